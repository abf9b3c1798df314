// expect: fail at verify
// exp by a polynomial of third degree in the fraction of the power of two: off by 1e-4.
#include "right.cuh"

__device__ float rough(float v)
{
    float t = fmaxf(v * 1.44269504f, -126), f = t - floorf(t);
    float p = 1 + f * (0.695976f + f * (0.224940f + f * 0.0790229f));
    return p * __int_as_float(((int)floorf(t) + 127) << 23);
}

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    float most = -INFINITY, sum = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        most = fmaxf(most, x[ROW + c]);
    most = block_all(most, true);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        sum += rough(x[ROW + c] - most);
    sum = block_all(sum, false);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = rough(x[ROW + c] - most) / sum;
}
