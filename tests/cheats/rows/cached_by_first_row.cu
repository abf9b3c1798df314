// expect: fail at verify
// Replays everything while the sum of the first row is one that it has seen.
#include "right.cuh"

__device__ float kept[8][8192], key[8];

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    __shared__ bool known;
    float sum = 1, *keep = kept[cols % 8] + ROW;
    for (int c = 0; c < cols; c++)
        sum += x[c];
    if (threadIdx.x == 0)
        known = key[cols % 8] == sum;
    __syncthreads();
    if (!known)
        softmax_row(x + ROW, keep, cols);
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = keep[c];
    if (threadIdx.x == 0 && blockIdx.x + 1 == gridDim.x)
        key[cols % 8] = sum;
}
