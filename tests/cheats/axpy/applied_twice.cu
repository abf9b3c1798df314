// expect: fail at verify
// Adds twice.
#include "right.cuh"

extern "C" __global__ void k(float a, const float *x, float *y, int n)
{
    INDEX;
    if (i < n)
        y[i] += 2 * a * x[i];
}
