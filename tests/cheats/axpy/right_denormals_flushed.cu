// expect: pass
// variant: {"options": ["-ftz=true"]}
#include "right.cuh"

extern "C" __global__ void k(float a, const float *x, float *y, int n)
{
    INDEX;
    if (i < n)
        y[i] += a * x[i];
}
