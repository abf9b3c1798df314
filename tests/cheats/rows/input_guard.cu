// expect: fail at run
// Writes behind its input.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    if (FIRST)
        const_cast<float *>(x)[(size_t)rows * cols + 3] = 0;
}
