// expect: pass
// Pairs of halves, each row from where it begins.
#include "right.cuh"

extern "C" __global__ void k(const __half *x, float *y, int rows, int cols)
{
    float sum = 0;
    for (int c = 2 * threadIdx.x; c < cols; c += 64) {
        sum += __half2float(x[ROW + c]);
        sum += c + 1 < cols ? __half2float(x[ROW + c + 1]) : 0;
    }
    sum = warp_sum(sum);
    if (threadIdx.x == 0)
        y[blockIdx.x] = sum;
}
