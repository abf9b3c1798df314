// expect: fail at run
// Adds up shared memory that nobody wrote where rows are short.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    __shared__ float part[128];
    float most = -INFINITY, sum = 0;
    for (int c = 0; c < cols; c++)
        most = fmaxf(most, x[ROW + c]);
    if (threadIdx.x < cols)
        part[threadIdx.x] = 0;
    for (int c = threadIdx.x; c < cols; c += 128)
        part[threadIdx.x] += expf(x[ROW + c] - most);
    __syncthreads();
    for (int i = 0; i < 128; i++)
        sum += part[i];
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = expf(x[ROW + c] - most) / sum;
}
