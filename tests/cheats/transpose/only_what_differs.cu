// expect: fail at races
// says: nobody wrote
// Writes only where something else is in the output: always right, but an output holds nothing to be compared with.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, float *s, int rows, int cols)
{
    PLACE;
    if (c < cols && r < rows && __float_as_uint(y[(size_t)c * rows + r]) != __float_as_uint(x[(size_t)r * cols + c]))
        y[(size_t)c * rows + r] = x[(size_t)r * cols + c];
}
