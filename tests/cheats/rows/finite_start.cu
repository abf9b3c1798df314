// expect: fail at verify
// Starts the search for the largest at -1e30 instead of -infinity.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    float most = -1e30f, sum = 0;
    for (int c = 0; c < cols; c++)
        most = fmaxf(most, x[ROW + c]);
    for (int c = 0; c < cols; c++)
        sum += expf(x[ROW + c] - most);
    sum += 1e-30f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = expf(x[ROW + c] - most) / sum;
}
