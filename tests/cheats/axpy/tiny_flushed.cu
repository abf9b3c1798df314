// expect: fail at verify
// Takes everything below 1e-12 for zero.
#include "right.cuh"

extern "C" __global__ void k(float a, const float *x, float *y, int n)
{
    INDEX;
    if (i < n)
        y[i] = fabsf(x[i]) < 1e-12f ? 0 : y[i] + a * x[i];
}
