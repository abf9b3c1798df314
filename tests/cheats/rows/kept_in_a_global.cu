// expect: fail at verify
// Keeps its first result of each size and replays it.
#include "right.cuh"

__device__ float kept[8][8192];
__device__ int calls[8][64];

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    int slot = cols % 8;
    float *keep = kept[slot] + ROW;
    if (calls[slot][blockIdx.x] == 0) {
        softmax_row(x + ROW, keep, cols);
        __syncthreads();
    }
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = keep[c];
    if (threadIdx.x == 0)
        calls[slot][blockIdx.x] = 1;
}
