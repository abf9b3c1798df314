// expect: fail at verify
// Adds up in float16.
#include "right.cuh"

extern "C" __global__ void k(const __half *x, float *y, int rows, int cols)
{
    __half sum = __float2half(0);
    for (int c = 0; c < cols; c++)
        sum = __hadd(sum, x[ROW + c]);
    if (threadIdx.x == 0)
        y[blockIdx.x] = __half2float(sum);
}
