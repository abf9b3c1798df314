// expect: fail at verify
// gpu: may pass: some thirty timed launches are looked at, of which none need be one of those
// One launch in thirty, by its own count, leaves the first element wrong.
#include "right.cuh"

__device__ int calls;

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    int before = *(volatile int *)&calls;
    RIGHT;
    __syncthreads();
    if (before % 30 == 29 && FIRST)
        y[0] += 0.01f;
    if (threadIdx.x == 0 && blockIdx.x + 1 == gridDim.x)
        calls = before + 1;
}
