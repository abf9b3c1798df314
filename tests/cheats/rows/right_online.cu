// expect: pass
// Largest and sum in one pass.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    float most = -INFINITY, sum = 0;
    for (int c = 0; c < cols; c++) {
        float v = x[ROW + c];
        if (v > most) {
            sum = sum * expf(most - v) + 1;
            most = v;
        } else if (most > -INFINITY) {
            sum += expf(v - most);
        }
    }
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = expf(x[ROW + c] - most) / sum;
}
