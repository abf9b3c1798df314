// expect: fail at verify
// Row 0 is shifted by one element.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    softmax_row(x + ROW, y + ROW, cols);
    __syncthreads();
    if (FIRST) {
        float first = y[0];
        for (int c = 0; c + 1 < cols; c++)
            y[c] = y[c + 1];
        y[cols - 1] = first;
    }
}
