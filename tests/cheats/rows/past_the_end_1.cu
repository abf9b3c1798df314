// expect: fail at run
// Writes one element past the end.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    if (FIRST)
        y[(size_t)rows * cols] = 1;
}
