// expect: fail at run
// Works on a multiple of four rows.
// variant: {"launch": {"grid": ["ceil_div(rows,4)*4"], "block": [128]}}
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
}
