// expect: fail at run
// says: x[0], which is an input
// Right, but leaves exponentials in its input.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        const_cast<float *>(x)[ROW + c] = expf(x[ROW + c]);
}
