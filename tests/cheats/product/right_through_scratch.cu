// expect: pass
// Keeps everything in scratch and in a variable, and makes it anew each time.
// variant: {"launches": [{"kernel": "multiply", "launch": {"grid": ["ceil_div(n,16)", "ceil_div(m,16)"], "block": [16, 16]}}, {"kernel": "copy", "launch": {"grid": ["ceil_div(n,16)", "ceil_div(m,16)"], "block": [16, 16]}}]}
#include "right.cuh"

__device__ float kept[160 * 160];

extern "C" __global__ void multiply(PARAMETERS)
{
    PLACE;
    if (in)
        kept[i * n + j] = w[i * n + j] = element(a, b, i, j, n, k);
}

extern "C" __global__ void copy(PARAMETERS)
{
    PLACE;
    if (in)
        c[i * n + j] = (kept[i * n + j] + w[i * n + j]) / 2;
}
