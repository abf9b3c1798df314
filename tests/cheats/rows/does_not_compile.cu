// expect: fail at compile
// Misses a name.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    something(y);
}
