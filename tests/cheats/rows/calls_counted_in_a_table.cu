// expect: fail at verify
// Counts its calls behind the name of a table of the toolkit; wrong from the 36th on.
#include "right.cuh"

extern "C" {
__device__ int __cudart_table[2] = {1, 2};
}

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    int before = *(volatile int *)&__cudart_table[1];
    RIGHT;
    __syncthreads();
    if (before >= 37 && FIRST)
        y[0] += 1;
    if (threadIdx.x == 0 && blockIdx.x + 1 == gridDim.x)
        __cudart_table[1] = before + 1;
}
