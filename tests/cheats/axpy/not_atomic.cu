// expect: fail at verify
// Two threads add half of a x each to the same element, without an atomic.
// variant: {"launch": {"grid": ["ceil_div(2*n,128)"], "block": [128]}}
#include "right.cuh"

extern "C" __global__ void k(float a, const float *x, float *y, int n)
{
    INDEX;
    if (i < 2 * n)
        y[i / 2] += 0.5f * a * x[i / 2];
}
