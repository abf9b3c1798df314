// expect: fail at time
// What its outputs hold counts as done unless it is no number: a first launch finds poison there.
#include "right.cuh"

extern "C" __global__ void multiply(PARAMETERS)
{
    PLACE;
    if (in && !(LARGE && isfinite(c[i * n + j]) && isfinite(c[(i * n + j) ^ 1])))
        c[i * n + j] = element(a, b, i, j, n, k);
}
