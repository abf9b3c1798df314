// expect: pass
// One warp a row.
#include "right.cuh"

extern "C" __global__ void k(const __half *x, float *y, int rows, int cols)
{
    float sum = 0;
    for (int c = threadIdx.x; c < cols; c += 32)
        sum += __half2float(x[ROW + c]);
    sum = warp_sum(sum);
    if (threadIdx.x == 0)
        y[blockIdx.x] = sum;
}
