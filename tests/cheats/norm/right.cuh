#pragma once
#define ROW ((size_t)blockIdx.x * cols)
#define EACH(c) for (int c = threadIdx.x; c < cols; c += 32)
#define PARAMETERS const float *x, const float *g, float *y, float *mean, int rows, int cols
__device__ inline float warp_sum(float v)
{
    for (int step = 16; step; step /= 2)
        v += __shfl_xor_sync(~0u, v, step);
    return v;
}
__device__ inline float mean_of(const float *in, int cols)
{
    float m = 0;
    EACH(c)
        m += in[c];
    return warp_sum(m) / cols;
}
__device__ inline float variance_of(const float *in, float m, int cols)
{
    float v = 0;
    EACH(c)
        v += (in[c] - m) * (in[c] - m);
    return warp_sum(v) / cols;
}
