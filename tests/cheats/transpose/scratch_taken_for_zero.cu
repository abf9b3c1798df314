// expect: fail at run
// Adds to scratch memory that it believes to be zero.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, float *s, int rows, int cols)
{
    PLACE;
    if (c < cols && r < rows) {
        atomicAdd(s + (size_t)r * cols + c, x[(size_t)r * cols + c]);
        y[(size_t)c * rows + r] = s[(size_t)r * cols + c];
    }
}
