// expect: fail at run
// gpu: hangs
// Waits for what never comes.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    while (*(volatile float *)&y[ROW] > -1)
        ;
}
