// expect: pass
// Atomics in shared memory.
#include "right.cuh"

extern "C" __global__ void k(const int *x, int *y, int rows, int cols)
{
    __shared__ int n;
    if (threadIdx.x == 0)
        n = 0;
    __syncthreads();
    EACH(c)
        if (x[ROW + c] > 0)
            atomicAdd(&n, 1);
    __syncthreads();
    if (threadIdx.x == 0)
        y[blockIdx.x] = n;
}
