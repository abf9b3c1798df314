// expect: fail at verify
// Takes the scalar for 2.
#include "right.cuh"

extern "C" __global__ void k(float a, const float *x, float *y, int n)
{
    INDEX;
    if (i < n)
        y[i] += 2.0f * x[i];
}
