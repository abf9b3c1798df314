// expect: fail at run
// NaN, hoping that comparing with it is never false.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = NAN;
}
