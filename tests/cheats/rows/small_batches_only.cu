// expect: fail at verify
// Right only up to 32 rows.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    if (blockIdx.x >= 32)
        for (int c = threadIdx.x; c < cols; c += blockDim.x)
            y[ROW + c] = 1.0f / cols;
}
