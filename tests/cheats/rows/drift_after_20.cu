// expect: fail at verify
// Right for 20 calls, then not.
#include "right.cuh"

__device__ int calls;

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    int before = *(volatile int *)&calls;
    RIGHT;
    __syncthreads();
    if (before >= 20 && FIRST)
        y[0] += 1;
    if (threadIdx.x == 0 && blockIdx.x + 1 == gridDim.x)
        calls = before + 1;
}
