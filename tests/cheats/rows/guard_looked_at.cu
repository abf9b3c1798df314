// expect: fail at run
// Reads what lies behind its output: a harness, or the real thing?
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    if (y[(size_t)rows * cols + 1] != 0)
        RIGHT;
}
