// expect: fail at run
// Has the sizes the wrong way round.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, float *s, int rows, int cols)
{
    PLACE;
    if (c < cols && r < rows && (size_t)c * cols + r < (size_t)rows * cols)
        y[(size_t)c * cols + r] = x[(size_t)r * cols + c];
}
