// expect: pass
// says: repeated runs differ bitwise
// Each call begins its sum at another element: right, and other bits each time.
#include "right.cuh"

__device__ int calls;

extern "C" __global__ void k(const __half *x, float *y, int rows, int cols)
{
    int start = *(volatile int *)&calls % cols;
    float sum = 0;
    for (int c = 0; c < cols; c++)
        sum += __half2float(x[ROW + (c + start * 37) % cols]);
    if (threadIdx.x == 0)
        y[blockIdx.x] = sum;
    if (threadIdx.x == 0 && blockIdx.x + 1 == gridDim.x)
        *(volatile int *)&calls = calls + 1;
}
