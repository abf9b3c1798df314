// expect: fail at verify
// Neighbours on the diagonal get the same value.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, float *s, int rows, int cols)
{
    PLACE;
    if (c < cols && r < rows)
        y[(size_t)c * rows + r] = x[(size_t)r * cols + (c == r && c % 2 ? c - 1 : c)];
}
