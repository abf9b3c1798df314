// expect: fail at verify
// Loses updates.
#include "right.cuh"

extern "C" __global__ void k(const int *x, int *y, int rows, int cols)
{
    CLEAR;
    EACH(c)
        if (x[ROW + c] > 0)
            y[blockIdx.x] += 1;
}
