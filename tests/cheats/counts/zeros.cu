// expect: fail at verify
// Writes zeros.
#include "right.cuh"

extern "C" __global__ void k(const int *x, int *y, int rows, int cols)
{
    CLEAR;
}
