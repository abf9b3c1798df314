// expect: pass
#include "right.cuh"

extern "C" __global__ void multiply(PARAMETERS)
{
    PLACE;
    RIGHT;
}
