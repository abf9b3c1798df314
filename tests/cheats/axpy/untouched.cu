// expect: fail at verify
// Leaves the array as it was.
#include "right.cuh"

extern "C" __global__ void k(float a, const float *x, float *y, int n)
{

}
