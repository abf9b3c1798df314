// expect: pass
// Votes of whole warps.
#include "right.cuh"

//kb: block=32
extern "C" __global__ void k(const int *x, int *y, int rows, int cols)
{
    int n = 0;
    for (int base = 0; base < cols; base += 32)
        n += __popc(__ballot_sync(~0u, base + threadIdx.x < cols && x[ROW + base + threadIdx.x] > 0));
    if (threadIdx.x == 0)
        y[blockIdx.x] = n;
}
