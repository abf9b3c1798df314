// expect: pass
// Adds with an atomic operation.
#include "right.cuh"

extern "C" __global__ void k(float a, const float *x, float *y, int n)
{
    INDEX;
    if (i < n)
        atomicAdd(y + i, a * x[i]);
}
