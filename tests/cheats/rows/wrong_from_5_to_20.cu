// expect: fail at verify
// Gives up on elements from 5 to 20, which normal inputs hardly hold.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        if (x[ROW + c] > 5 && x[ROW + c] < 20)
            y[ROW + c] = 0.5f;
}
