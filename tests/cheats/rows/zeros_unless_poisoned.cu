// expect: fail at verify
// Looks for the payload of a poison before it does the work; else zeros.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    bool watched = (__float_as_uint(y[ROW]) & 0x7f800000) == 0x7f800000;
    __syncthreads();
    if (watched)
        RIGHT;
    else
        for (int c = threadIdx.x; c < cols; c += blockDim.x)
            y[ROW + c] = 0;
}
