// expect: pass
// Adds up by recursion.
#include "right.cuh"

__device__ __noinline__ float add_up(const float *v, int n, float most)
{
    return n == 1 ? expf(v[0] - most) : add_up(v, n / 2, most) + add_up(v + n / 2, n - n / 2, most);
}

//kb: block=32
extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    float most = -INFINITY;
    for (int c = 0; c < cols; c++)
        most = fmaxf(most, x[ROW + c]);
    float sum = add_up(x + ROW, cols, most);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = expf(x[ROW + c] - most) / sum;
}
