// expect: pass
// Rows without a result get a NaN with another sign and payload than the reference's.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        if (isnan(y[ROW + c]))
            y[ROW + c] = __uint_as_float(0xffc12345);
}
