// expect: fail at verify
// Adds up with the digits of bf16.
#include "right.cuh"
#include <cuda_bf16.h>

extern "C" __global__ void k(const __half *x, float *y, int rows, int cols)
{
    __nv_bfloat16 sum = __float2bfloat16(0);
    for (int c = threadIdx.x; c < cols; c += 32)
        sum = __float2bfloat16(__bfloat162float(sum) + __half2float(x[ROW + c]));
    float all = warp_sum(__bfloat162float(sum));
    if (threadIdx.x == 0)
        y[blockIdx.x] = all;
}
