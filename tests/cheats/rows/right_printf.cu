// expect: pass
// Prints while it works.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    if (FIRST)
        printf("row 0 begins with %g\n", y[0]);
}
