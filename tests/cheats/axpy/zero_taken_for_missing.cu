// expect: fail at verify
// Where x is zero, y becomes zero.
#include "right.cuh"

extern "C" __global__ void k(float a, const float *x, float *y, int n)
{
    INDEX;
    if (i < n)
        y[i] = x[i] != 0 ? y[i] + a * x[i] : 0;
}
