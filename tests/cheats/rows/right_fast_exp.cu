// expect: pass
// The fast exponential of the hardware.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    float most = -INFINITY, sum = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        most = fmaxf(most, x[ROW + c]);
    most = block_all(most, true);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        sum += __expf(x[ROW + c] - most);
    sum = block_all(sum, false);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = __fdividef(__expf(x[ROW + c] - most), sum);
}
