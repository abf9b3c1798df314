// expect: fail at run
// Writes the bits that usual poison has.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = __int_as_float(0xffffffff);
}
