// expect: pass
// Each row in four parts, added by atomics to an output that the first launch clears.
// variant: {"launches": [{"kernel": "clear", "launch": {"grid": ["ceil_div(rows,32)"], "block": [32]}}, {"kernel": "k", "launch": {"grid": ["rows", 4], "block": [32]}}]}
#include "right.cuh"

extern "C" __global__ void clear(const __half *x, float *y, int rows, int cols)
{
    int row = blockIdx.x * 32 + threadIdx.x;
    if (row < rows)
        y[row] = 0;
}

extern "C" __global__ void k(const __half *x, float *y, int rows, int cols)
{
    float sum = 0;
    for (int c = blockIdx.y * 32 + threadIdx.x; c < cols; c += 128)
        sum += __half2float(x[ROW + c]);
    sum = warp_sum(sum);
    if (threadIdx.x == 0)
        atomicAdd(y + blockIdx.x, sum);
}
