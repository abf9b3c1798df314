// expect: pass
// From the first to the last, in float.
#include "right.cuh"

extern "C" __global__ void k(const __half *x, float *y, int rows, int cols)
{
    float sum = 0;
    for (int c = 0; c < cols; c++)
        sum += __half2float(x[ROW + c]);
    if (threadIdx.x == 0)
        y[blockIdx.x] = sum;
}
