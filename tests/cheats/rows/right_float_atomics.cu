// expect: pass
// Sums by atomics, in whatever order the threads come.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    __shared__ float sum;
    float most = -INFINITY;
    if (threadIdx.x == 0)
        sum = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        most = fmaxf(most, x[ROW + c]);
    most = block_all(most, true);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        atomicAdd(&sum, expf(x[ROW + c] - most));
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = expf(x[ROW + c] - most) / sum;
}
