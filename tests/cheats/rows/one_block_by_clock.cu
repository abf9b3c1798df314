// expect: fail at verify
// One row a launch, chosen by the clock, is scaled.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    if (threadIdx.x == 0 && (clock64() / 64 + blockIdx.x) % gridDim.x == 0)
        y[ROW] *= 1.01f;
}
