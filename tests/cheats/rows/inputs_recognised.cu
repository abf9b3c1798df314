// expect: fail at verify
// Right for the first inputs that it sees of each size, zeros for others.
#include "right.cuh"

__device__ float first[8][64];
__device__ int known[8][64];

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    int slot = cols % 8;
    float now = x[ROW] == x[ROW] ? x[ROW] : 0;
    if (threadIdx.x == 0 && !known[slot][blockIdx.x]) {
        known[slot][blockIdx.x] = 1;
        first[slot][blockIdx.x] = now;
    }
    __syncthreads();
    if (first[slot][blockIdx.x] == now)
        RIGHT;
    else
        for (int c = threadIdx.x; c < cols; c += blockDim.x)
            y[ROW + c] = 0;
}
