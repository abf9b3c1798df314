// expect: pass
// One warp a row, with shuffles.
#include "right.cuh"

//kb: block=32
extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    float most = -INFINITY, sum = 0;
    for (int c = threadIdx.x; c < cols; c += 32)
        most = fmaxf(most, x[ROW + c]);
    for (int step = 16; step; step /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
    for (int c = threadIdx.x; c < cols; c += 32)
        sum += expf(x[ROW + c] - most);
    for (int step = 16; step; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    for (int c = threadIdx.x; c < cols; c += 32)
        y[ROW + c] = expf(x[ROW + c] - most) / sum;
}
