// expect: pass
// Computes in doubles.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    double most = -INFINITY, sum = 0;
    for (int c = 0; c < cols; c++)
        most = fmax(most, (double)x[ROW + c]);
    for (int c = 0; c < cols; c++)
        sum += exp(x[ROW + c] - most);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = (float)(exp(x[ROW + c] - most) / sum);
}
