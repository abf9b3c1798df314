// expect: fail at run
// Writes 16 elements past the end.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    if (FIRST)
        for (int i = 0; i < 16; i++)
            y[(size_t)rows * cols + i] = 0;
}
