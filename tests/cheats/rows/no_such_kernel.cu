// expect: fail at compile
// Has no kernel of the name that the bench launches.
#include "right.cuh"

extern "C" __global__ void other(const float *x, float *y, int rows, int cols)
{
    RIGHT;
}
