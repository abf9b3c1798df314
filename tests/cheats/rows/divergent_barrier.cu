// expect: fail at run
// says: two different barriers
// Half of the threads wait at another barrier than the rest.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    if (threadIdx.x & 1)
        __syncthreads();
    else if (threadIdx.x == 0)
        __syncthreads();
}
