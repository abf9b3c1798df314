// expect: fail at verify
// Copies.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, float *s, int rows, int cols)
{
    PLACE;
    if (c < cols && r < rows)
        y[(size_t)r * cols + c] = x[(size_t)r * cols + c];
}
