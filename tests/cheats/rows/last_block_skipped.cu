// expect: fail at run
// One block too few.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    if (blockIdx.x + 1 < rows)
        RIGHT;
}
