// expect: fail at verify
// says: tiny values
// Takes values below 1e-9 for -infinity.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        if (x[ROW + c] != 0 && fabsf(x[ROW + c]) < 1e-9f)
            y[ROW + c] = 0;
}
