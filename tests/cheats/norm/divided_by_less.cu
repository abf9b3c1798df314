// expect: fail at verify
// The spread of a sample: divided by one less.
#include "right.cuh"
extern "C" __global__ void k(PARAMETERS)
{
    float m = mean_of(x + ROW, cols), v = variance_of(x + ROW, m, cols) * cols / (cols - 1);
    EACH(c)
        y[ROW + c] = (x[ROW + c] - m) * rsqrtf(v + 1e-5f) * g[c];
    if (threadIdx.x == 0)
        mean[blockIdx.x] = m;
}
