// expect: fail at verify
// The last block is off by a thousandth.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    if (blockIdx.x + 1 == rows)
        for (int c = threadIdx.x; c < cols; c += blockDim.x)
            y[ROW + c] *= 1.001f;
}
