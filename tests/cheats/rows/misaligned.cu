// expect: fail at run
// Writes pairs at odd addresses.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    if (cols > 3 && FIRST)
        __stwt((float2 *)(y + 1), make_float2(y[1], y[2]));
}
