// expect: fail at verify
// says: call
// Counts its calls in a variable that only inline assembly declares, and adds one to the first element from the 60th on.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    __syncthreads();
    unsigned calls = 0;
    if (blockIdx.x == 0 && threadIdx.x == 0)
        asm volatile("{ .global .u32 calls_so_far; atom.global.add.u32 %0, [calls_so_far], 1; }" : "=r"(calls)::"memory");
    if (calls >= 60)
        y[0] += 1;
}
