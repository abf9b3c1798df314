// expect: fail at verify
// Copies its input.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = x[ROW + c];
}
