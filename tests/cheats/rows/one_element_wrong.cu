// expect: fail at verify
// One element of thousands is off by a hundredth.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    __syncthreads();
    if (threadIdx.x == 0 && blockIdx.x == rows / 2)
        y[ROW + cols / 2] *= 1.01f;
}
