// expect: fail at check
// Wants more shared memory than there is.
#include "right.cuh"

//kb: shared=300000
extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    extern __shared__ float much[];
    much[threadIdx.x] = 0;
    RIGHT;
}
