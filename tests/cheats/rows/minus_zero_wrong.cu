// expect: fail at verify
// Takes the sign of minus zero for that of a large number.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        if (__float_as_uint(x[ROW + c]) == 0x80000000u)
            y[ROW + c] = 0;
}
