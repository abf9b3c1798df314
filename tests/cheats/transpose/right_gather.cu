// expect: pass
// Reads across, writes along.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, float *s, int rows, int cols)
{
    for (int i = threadIdx.y * 16 + threadIdx.x + 256 * (blockIdx.y * gridDim.x + blockIdx.x); i < rows * cols;
         i += 256 * gridDim.x * gridDim.y)
        y[i] = x[(size_t)(i % rows) * cols + i / rows];
}
