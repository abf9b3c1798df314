// expect: fail at verify
// Replays the sum of a row whose first and last elements it knows.
#include "right.cuh"

__device__ float kept[64], key[64];

extern "C" __global__ void k(const __half *x, float *y, int rows, int cols)
{
    float sum = 0, now = __half2float(x[ROW]) + 3 * __half2float(x[ROW + cols - 1]) + cols;
    for (int c = threadIdx.x; c < cols; c += 32)
        sum += __half2float(x[ROW + c]);
    sum = warp_sum(sum);
    if (threadIdx.x)
        return;
    if (key[blockIdx.x] != now)
        kept[blockIdx.x] = sum;
    key[blockIdx.x] = now;
    y[blockIdx.x] = kept[blockIdx.x];
}
