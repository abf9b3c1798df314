// expect: pass
// Each block waits for the one before it.
#include "right.cuh"

__device__ int turn;

//kb: cooperative=true
extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    if (threadIdx.x == 0 && blockIdx.x > 0)
        while (*(volatile int *)&turn != blockIdx.x)
            ;
    __syncthreads();
    RIGHT;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        *(volatile int *)&turn = blockIdx.x + 1 == gridDim.x ? 0 : blockIdx.x + 1;
}
