// expect: fail at races
// says: no barrier in between
// A race that gives right results here, and an instruction that the CPU device does not run where nobody gets.
#include "right.cuh"
//kb: grid=rows block=128
extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    __shared__ float last;
    if (rows < 0)
        asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
    RIGHT;
    last = (float)threadIdx.x;
    __syncthreads();
    if (last < 0)
        y[0] = last;
}
