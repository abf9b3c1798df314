// expect: fail at verify
// Each thread adds up with the digits of bf16.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    float most = -INFINITY, sum = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        most = fmaxf(most, x[ROW + c]);
    most = block_all(most, true);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        sum = __uint_as_float(__float_as_uint(sum + expf(x[ROW + c] - most)) & 0xffff0000);
    sum = block_all(sum, false);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = expf(x[ROW + c] - most) / sum;
}
