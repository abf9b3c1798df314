// expect: fail at verify
// Rows whose first element is above 2.5 are left uniform: one row in 160.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    if (x[ROW] > 2.5f && cols > 1)
        for (int c = threadIdx.x; c < cols; c += blockDim.x)
            y[ROW + c] = 1.f / cols;
}
