// expect: fail at run
// Reads beyond its input.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    if (FIRST && x[(size_t)rows * cols] > 1e30f)
        y[0] = 0;
}
