// expect: fail at run
// Does nothing.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{

}
