// expect: fail at run
// Right in row 0, NaN below it.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    if (blockIdx.x == 0)
        RIGHT;
    else
        for (int c = threadIdx.x; c < cols; c += blockDim.x)
            y[ROW + c] = NAN;
}
