// expect: fail at verify
// Computes in bf16.
#include "right.cuh"

#include <cuda_bf16.h>

extern "C" __global__ void k(float a, const float *x, float *y, int n)
{
    INDEX;
    if (i < n)
        y[i] = __bfloat162float(__float2bfloat16(y[i] + a * x[i]));
}
