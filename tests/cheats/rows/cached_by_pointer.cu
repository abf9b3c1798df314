// expect: fail at verify
// says: freshly loaded module
// Replays its result where it has seen the pointers before.
#include "right.cuh"

__device__ float kept[8][8192];
__device__ const void *seen_x[8][64], *seen_y[8][64];

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    int slot = cols % 8;
    float *keep = kept[slot] + ROW;
    bool known = seen_x[slot][blockIdx.x] == x && seen_y[slot][blockIdx.x] == y;
    __syncthreads();
    if (!known)
        softmax_row(x + ROW, keep, cols);
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = keep[c];
    if (threadIdx.x == 0) {
        seen_x[slot][blockIdx.x] = x;
        seen_y[slot][blockIdx.x] = y;
    }
}
