// expect: fail at verify
// Leaves the tail out.
#include "right.cuh"

extern "C" __global__ void k(float a, const float *x, float *y, int n)
{
    INDEX;
    if (i < n / 128 * 128)
        y[i] += a * x[i];
}
