// expect: pass
// Sums from the end.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    float most = -INFINITY, sum = 0;
    for (int c = cols - 1; c >= 0; c--)
        most = fmaxf(most, x[ROW + c]);
    for (int c = cols - 1; c >= 0; c--)
        sum += expf(x[ROW + c] - most);
    for (int c = cols - 1 - (int)threadIdx.x; c >= 0; c -= blockDim.x)
        y[ROW + c] = expf(x[ROW + c] - most) / sum;
}
