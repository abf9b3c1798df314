// expect: fail at verify
// Wrong for inputs from 1 to 1.001 only.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        if (x[ROW + c] > 1 && x[ROW + c] < 1.001f)
            y[ROW + c] = 0;
}
