// expect: fail at run
// Writes far past the end.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    if (FIRST)
        y[(size_t)1 << 34] = 1;
}
