// expect: pass
// The block that comes last does the work of all and puts the counter back.
#include "right.cuh"

__device__ unsigned finished;

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    __shared__ int last;
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last)
        for (int r = 0; r < rows; r++)
            softmax_row(x + (size_t)r * cols, y + (size_t)r * cols, cols);
}
