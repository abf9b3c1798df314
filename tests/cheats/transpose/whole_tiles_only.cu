// expect: fail at run
// Leaves the edges out.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, float *s, int rows, int cols)
{
    PLACE;
    if (blockIdx.x * 16 + 16 <= cols && blockIdx.y * 16 + 16 <= rows)
        y[(size_t)c * rows + r] = x[(size_t)r * cols + c];
}
