// expect: pass
// Counts its launches, and does nothing with the number.
#include "right.cuh"

__device__ unsigned long long calls;

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    if (FIRST)
        calls++;
}
