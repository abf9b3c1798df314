// expect: fail at races
// says: with no barrier in between
// The first thread's result is read without a barrier: right wherever the first warp goes first.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    __shared__ float most, sum;
    if (threadIdx.x == 0) {
        float m = -INFINITY, s = 0;
        for (int c = 0; c < cols; c++)
            m = fmaxf(m, x[ROW + c]);
        for (int c = 0; c < cols; c++)
            s += expf(x[ROW + c] - m);
        most = m;
        sum = s;
    }
    __syncwarp();
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = expf(x[ROW + c] - most) / sum;
}
