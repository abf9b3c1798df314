// expect: fail at run
// Right but for one infinity.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    if (FIRST)
        y[0] = INFINITY;
}
