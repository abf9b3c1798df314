// expect: pass
// A static kernel.
#include "right.cuh"

static __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
}
