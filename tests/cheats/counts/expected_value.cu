// expect: fail at verify
// Writes what the distribution promises.
#include "right.cuh"

extern "C" __global__ void k(const int *x, int *y, int rows, int cols)
{
    if (threadIdx.x == 0)
        y[blockIdx.x] = cols * 8 / 12;
}
