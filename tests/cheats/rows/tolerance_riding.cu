// expect: fail at verify
// Adds noise of nearly the tolerance to each element.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] *= (c * 2654435761u) >> 31 ? 1 + 4.4e-6f : 1 - 4.4e-6f;
}
