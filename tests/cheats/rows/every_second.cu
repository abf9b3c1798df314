// expect: fail at run
// says: never written
// Leaves every second element out.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    float most = -INFINITY, sum = 0;
    for (int c = 0; c < cols; c++)
        most = fmaxf(most, x[ROW + c]);
    for (int c = 0; c < cols; c++)
        sum += expf(x[ROW + c] - most);
    for (int c = 2 * threadIdx.x; c < cols; c += 2 * blockDim.x)
        y[ROW + c] = expf(x[ROW + c] - most) / sum;
}
