// expect: fail at verify
// Reads its inputs with the digits of tf32.
#include "right.cuh"

__device__ float cut(float v)
{
    return __uint_as_float((__float_as_uint(v) + 0x1000) & 0xffffe000);
}

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    float most = -INFINITY, sum = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        most = fmaxf(most, cut(x[ROW + c]));
    most = block_all(most, true);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        sum += expf(cut(x[ROW + c]) - most);
    sum = block_all(sum, false);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = expf(cut(x[ROW + c]) - most) / sum;
}
