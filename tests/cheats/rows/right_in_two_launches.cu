// expect: pass
// Even rows by one launch, odd ones by another, which also takes what the first has left in the output.
// variant: {"launches": [{"kernel": "most", "launch": {"grid": ["rows"], "block": [128]}}, {"kernel": "finish", "launch": {"grid": ["rows"], "block": [64]}}]}
#include "right.cuh"

extern "C" __global__ void most(const float *x, float *y, int rows, int cols)
{
    float most = -INFINITY;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        most = fmaxf(most, x[ROW + c]);
    most = block_all(most, true);
    if (threadIdx.x == 0)
        y[ROW] = most;
}

extern "C" __global__ void finish(const float *x, float *y, int rows, int cols)
{
    float most = y[ROW], sum = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        sum += expf(x[ROW + c] - most);
    sum = block_all(sum, false);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = expf(x[ROW + c] - most) / sum;
}
