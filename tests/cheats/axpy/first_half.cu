// expect: fail at verify
// Does the first half.
#include "right.cuh"

extern "C" __global__ void k(float a, const float *x, float *y, int n)
{
    INDEX;
    if (i < (n + 1) / 2)
        y[i] += a * x[i];
}
