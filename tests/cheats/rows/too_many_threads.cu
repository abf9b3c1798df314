// expect: fail at check
// Wants more threads a block than there can be.
#include "right.cuh"

//kb: block=2048
extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
}
