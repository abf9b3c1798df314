// expect: pass
// A cooperative launch.
#include "right.cuh"

//kb: cooperative=true
extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    __threadfence();
}
