// expect: fail at verify
// Takes a zero for a masked element.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        if (x[ROW + c] == 0)
            y[ROW + c] = 0;
}
