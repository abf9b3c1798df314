// expect: fail at verify
// Loses the last bit, which "exact" does not allow.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, float *s, int rows, int cols)
{
    PLACE;
    if (c < cols && r < rows)
        y[(size_t)c * rows + r] = __int_as_float(__float_as_int(x[(size_t)r * cols + c]) & ~1);
}
