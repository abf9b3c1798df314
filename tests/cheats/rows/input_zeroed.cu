// expect: fail at run
// Sets its input to zero and gives the right result for that.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    float *in = const_cast<float *>(x);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        in[ROW + c] = 0;
    __syncthreads();
    RIGHT;
}
