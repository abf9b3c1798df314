// expect: fail at run
// Writes before the start.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    if (FIRST)
        y[-1] = 1;
}
