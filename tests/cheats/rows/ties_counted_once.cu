// expect: fail at verify
// The largest element counts once, however often it is there.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    float most = -INFINITY, sum = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        most = fmaxf(most, x[ROW + c]);
    most = block_all(most, true);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        sum += x[ROW + c] == most ? 0 : expf(x[ROW + c] - most);
    sum = 1 + block_all(sum, false);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = expf(x[ROW + c] - most) / sum;
}
