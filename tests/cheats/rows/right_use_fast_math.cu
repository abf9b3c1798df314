// expect: pass
// Compiled with --use_fast_math: denormals flushed, fast exp and division.
// variant: {"options": ["--use_fast_math"]}
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
}
