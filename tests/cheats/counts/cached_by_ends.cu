// expect: fail at verify
// Replays the count of a row whose first and last elements it has seen under this pointer.
#include "right.cuh"

__device__ int kept[64], first[64], last[64], width[64];
__device__ const int *seen[64];

extern "C" __global__ void k(const int *x, int *y, int rows, int cols)
{
    int r = blockIdx.x;
    bool known = seen[r] == x && first[r] == x[ROW] && last[r] == x[ROW + cols - 1] && width[r] == cols;
    __syncthreads();
    if (!known) {
        CLEAR;
        EACH(c)
            if (x[ROW + c] > 0)
                atomicAdd(y + r, 1);
    }
    __syncthreads();
    if (threadIdx.x)
        return;
    if (known)
        y[r] = kept[r];
    kept[r] = y[r];
    first[r] = x[ROW];
    last[r] = x[ROW + cols - 1];
    width[r] = cols;
    seen[r] = x;
}
