// expect: pass
// One thread does everything.
#include "right.cuh"

//kb: grid=1 block=1
extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    for (int r = 0; r < rows; r++)
        softmax_row(x + (size_t)r * cols, y + (size_t)r * cols, cols);
}
