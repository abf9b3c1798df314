// expect: pass
// A compensated sum.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    float most = -INFINITY, sum = 0, lost = 0;
    for (int c = 0; c < cols; c++)
        most = fmaxf(most, x[ROW + c]);
    for (int c = 0; c < cols; c++) {
        float term = expf(x[ROW + c] - most) - lost, next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = expf(x[ROW + c] - most) / sum;
}
