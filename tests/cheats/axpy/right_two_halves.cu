// expect: pass
// The second half first, by two launches of one kernel's halves.
// variant: {"launches": [{"kernel": "upper", "launch": {"grid": ["ceil_div(n,64)"], "block": [64]}}, {"kernel": "lower", "launch": {"grid": ["ceil_div(n,64)"], "block": [64]}}]}
#include "right.cuh"

extern "C" __global__ void upper(float a, const float *x, float *y, int n)
{
    INDEX;
    if (i >= n / 2 && i < n)
        y[i] = fmaf(a, x[i], y[i]);
}

extern "C" __global__ void lower(float a, const float *x, float *y, int n)
{
    INDEX;
    if (i < n / 2)
        y[i] = fmaf(a, x[i], y[i]);
}
