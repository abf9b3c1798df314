// expect: fail at verify
// Leaves the last element out of the sum where the length is odd.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    float most = -INFINITY, sum = 0;
    for (int c = 0; c < cols; c++)
        most = fmaxf(most, x[ROW + c]);
    for (int c = 0; c < cols / 2 * 2 || c == 0; c++)
        sum += expf(x[ROW + c] - most);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = expf(x[ROW + c] - most) / sum;
}
