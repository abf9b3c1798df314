// expect: fail at verify
// says: large values
// No largest element taken off: overflows for large values.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    float sum = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        sum += expf(x[ROW + c]);
    sum = block_all(sum, false);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = expf(x[ROW + c]) / sum;
}
