// expect: fail at run
// Needs more scratch memory than it has.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, float *s, int rows, int cols)
{
    PLACE;
    if (c < cols && r < rows) {
        s[(size_t)r * (cols + 1) + c] = x[(size_t)r * cols + c];
        y[(size_t)c * rows + r] = s[(size_t)r * (cols + 1) + c];
    }
}
