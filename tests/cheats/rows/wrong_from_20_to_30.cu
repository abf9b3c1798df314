// expect: fail at verify
// gpu: may pass: these calls lie between two looks at timed launches
// Wrong from the 21st call to the 30th.
#include "right.cuh"

__device__ int calls;

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    int before = *(volatile int *)&calls;
    RIGHT;
    __syncthreads();
    if (before >= 20 && before < 30 && FIRST)
        y[0] += 1;
    if (threadIdx.x == 0 && blockIdx.x + 1 == gridDim.x)
        calls = before + 1;
}
