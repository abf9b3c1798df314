// expect: pass
// variant: {"launches": [{"kernel": "k", "launch": {"grid": ["ceil_div(cols,16)", "ceil_div(rows,16)"], "block": [16, 16]}}, {"kernel": "second", "launch": {"grid": ["ceil_div(rows*cols,128)"], "block": [128]}}]}
// By way of scratch memory, in two launches.
#include "right.cuh"

extern "C" __global__ void second(const float *x, float *y, float *s, int rows, int cols)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < rows * cols)
        y[i] = s[(size_t)(i % rows) * cols + i / rows];
}

extern "C" __global__ void k(const float *x, float *y, float *s, int rows, int cols)
{
    PLACE;
    if (c < cols && r < rows)
        s[(size_t)r * cols + c] = x[(size_t)r * cols + c];
}
