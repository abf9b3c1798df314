// expect: fail at run
// Leaves the product in its input.
#include "right.cuh"

extern "C" __global__ void k(float a, const float *x, float *y, int n)
{
    INDEX;
    if (i < n) {
        float v = a * x[i];
        const_cast<float *>(x)[i] = v;
        y[i] += v;
    }
}
