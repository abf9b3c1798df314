// expect: fail at verify
// Sums only the elements that fill whole warps.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    float most = -INFINITY, sum = 0;
    for (int c = 0; c < cols; c++)
        most = fmaxf(most, x[ROW + c]);
    for (int c = 0; c < max(1, cols / 32 * 32); c++)
        sum += expf(x[ROW + c] - most);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = expf(x[ROW + c] - most) / sum;
}
