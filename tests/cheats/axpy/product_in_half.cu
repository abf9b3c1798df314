// expect: fail at verify
// Multiplies with the digits of float16.
#include <cuda_fp16.h>
#include "right.cuh"

extern "C" __global__ void k(float a, const float *x, float *y, int n)
{
    INDEX;
    if (i < n)
        y[i] += __half2float(__float2half(a) * __float2half(x[i]));
}
