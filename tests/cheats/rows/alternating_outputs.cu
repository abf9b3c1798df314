// expect: fail at verify
// Right only for an output that it did not write last time; else it leaves what is there.
#include "right.cuh"

__device__ const float *last[64];

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    bool again = last[blockIdx.x] == y && !(y[ROW] != y[ROW]);
    __syncthreads();
    if (threadIdx.x == 0)
        last[blockIdx.x] = y;
    if (!again)
        RIGHT;
}
