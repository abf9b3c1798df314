// expect: fail at verify
// Takes the sum in float16.
#include "right.cuh"

#include <cuda_fp16.h>

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    float most = -INFINITY;
    __half sum = __float2half(0);
    for (int c = 0; c < cols; c++)
        most = fmaxf(most, x[ROW + c]);
    for (int c = 0; c < cols; c++)
        sum = __hadd(sum, __float2half(expf(x[ROW + c] - most)));
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = expf(x[ROW + c] - most) / __half2float(sum);
}
