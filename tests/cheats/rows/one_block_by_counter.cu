// expect: fail at verify
// The block that comes third to a counter adds a thousandth.
#include "right.cuh"

__device__ unsigned tickets;

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    if (threadIdx.x == 0 && atomicInc(&tickets, gridDim.x - 1) == 2)
        y[ROW] *= 1.001f;
}
