// expect: fail at verify
// Adds to what the output held.
#include "right.cuh"

extern "C" __global__ void k(const int *x, int *y, int rows, int cols)
{
    EACH(c)
        if (x[ROW + c] > 0)
            atomicAdd(y + blockIdx.x, 1);
}
