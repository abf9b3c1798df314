// expect: fail at run
// Works in its input and puts everything back at the end: other blocks may read in between.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    float *in = (float *)x + ROW, most = -INFINITY, sum = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        most = fmaxf(most, in[c]);
    most = block_all(most, true);
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        y[ROW + c] = in[c];
        in[c] = expf(in[c] - most);
        sum += in[c];
    }
    sum = block_all(sum, false);
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        float kept = y[ROW + c];
        y[ROW + c] = in[c] / sum;
        in[c] = kept;
    }
}
