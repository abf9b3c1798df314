// expect: fail at verify
// A bf16 exponential.
#include "right.cuh"

#include <cuda_bf16.h>

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    float most = -INFINITY, sum = 0;
    for (int c = 0; c < cols; c++)
        most = fmaxf(most, x[ROW + c]);
    for (int c = 0; c < cols; c++)
        sum += __bfloat162float(__float2bfloat16(expf(x[ROW + c] - most)));
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = __bfloat162float(__float2bfloat16(expf(x[ROW + c] - most))) / sum;
}
