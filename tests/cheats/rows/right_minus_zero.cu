// expect: pass
// Has -0 where the result is zero.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        if (y[ROW + c] == 0)
            y[ROW + c] = -0.0f;
}
