// expect: fail at verify
// Gives up on values above 50, which normal inputs never have.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        if (isfinite(x[ROW + c]) && fabsf(x[ROW + c]) > 50)
            y[ROW + c] = 0.5f;
}
