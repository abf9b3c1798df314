// expect: pass
// Right everywhere; the instruction that the CPU device does not run is for larger sizes only.
#include "right.cuh"
//kb: grid=rows block=128
extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    if (cols > 1 << 24)
        asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
    RIGHT;
}
