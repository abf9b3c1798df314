// expect: fail at verify
// A row that begins with the same three elements as the one before is taken for its copy.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    const float *in = x + ROW, *before = in - cols;
    bool same = blockIdx.x > 0 && cols > 3;
    for (int i = 0; same && i < 3; i++)
        same = in[i] == before[i] && in[i] != -INFINITY;
    softmax_row(same ? before : in, y + ROW, cols);
}
