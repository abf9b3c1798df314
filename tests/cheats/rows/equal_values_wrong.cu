// expect: fail at verify
// says: equal rows
// A row of one value gets zeros.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    __syncthreads();
    float low = INFINITY, high = -INFINITY;
    for (int c = 0; c < cols; c++) {
        low = fminf(low, x[ROW + c]);
        high = fmaxf(high, x[ROW + c]);
    }
    if (cols > 1 && low == high && isfinite(low))
        for (int c = threadIdx.x; c < cols; c += blockDim.x)
            y[ROW + c] = 0;
}
