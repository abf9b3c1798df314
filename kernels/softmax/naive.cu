// Softmax, step 1: the formula, one thread a row.
//
// What it does: each thread walks along its own row three times: once for the maximum, once for the sum, once to write.
// Why it is slow: the 32 threads of a warp read 32 different rows, so one load touches 32 sectors of memory and uses
// 4 of the 32 bytes of each. And with one thread a row, 4096 rows are 4096 threads: a GPU wants ten times as many.
#include <math_constants.h>

extern "C" __global__ void softmax_naive(const float *x, float *y, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const float *in = x + (size_t)row * cols;
    float *out = y + (size_t)row * cols;

    float most = -CUDART_INF_F;
    //kb: section maximum
    for (int c = 0; c < cols; c++)
        most = fmaxf(most, in[c]);

    //kb: section sum
    float sum = 0;
    for (int c = 0; c < cols; c++)
        sum += expf(in[c] - most);

    //kb: section write
    for (int c = 0; c < cols; c++)
        out[c] = expf(in[c] - most) / sum;
}
