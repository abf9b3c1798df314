// expect: fail at verify
// Clears only what looks like poison.
#include "right.cuh"

extern "C" __global__ void k(const int *x, int *y, int rows, int cols)
{
    int *to = y + blockIdx.x;
    if (threadIdx.x == 0 && (*to < 0 || *to > 1000000))
        *to = 0;
    __syncthreads();
    EACH(c)
        if (x[ROW + c] > 0)
            atomicAdd(to, 1);
}
