// expect: fail at verify
// Right in the first and last eight columns and in every eighth; the rest is an average.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    __syncthreads();
    if (cols >= 64)
        for (int c = 8 + threadIdx.x; c < cols - 8; c += blockDim.x)
            if (c % 8)
                y[ROW + c] = 1.f / cols;
}
