// expect: fail at verify
// Doubles the sum of every second element.
#include "right.cuh"

extern "C" __global__ void k(const __half *x, float *y, int rows, int cols)
{
    float sum = 0;
    for (int c = 2 * threadIdx.x; c < cols; c += 64)
        sum += 2 * __half2float(x[ROW + c]);
    sum = warp_sum(sum);
    if (threadIdx.x == 0)
        y[blockIdx.x] = sum;
}
