// expect: fail at verify
// An output that already holds a possible count is left as it is.
#include "right.cuh"

extern "C" __global__ void k(const int *x, int *y, int rows, int cols)
{
    bool done = y[blockIdx.x] >= 0 && y[blockIdx.x] <= cols;
    __syncthreads();
    if (done)
        return;
    CLEAR;
    EACH(c)
        if (x[ROW + c] > 0)
            atomicAdd(y + blockIdx.x, 1);
}
