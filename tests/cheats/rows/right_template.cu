// expect: pass
// variant: {"kernel": "k<float, 4>"}
// An instance of a template.
#include "right.cuh"

template <typename T, int N> __global__ void k(const T *x, T *y, int rows, int cols)
{
    softmax_row(x + ROW, y + ROW, cols);
}
