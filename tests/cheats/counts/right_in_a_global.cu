// expect: pass
// Counts in a global that is cleared at the end.
#include "right.cuh"

__device__ int count[64];

extern "C" __global__ void k(const int *x, int *y, int rows, int cols)
{
    EACH(c)
        if (x[ROW + c] > 0)
            atomicAdd(count + blockIdx.x, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        y[blockIdx.x] = count[blockIdx.x];
        count[blockIdx.x] = 0;
    }
}
