// expect: fail at run
// Fails an assertion.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    if (FIRST)
        __trap();
}
