// expect: fail at run
// A row of the first output is never written: the mean goes there.
#include "right.cuh"
extern "C" __global__ void k(PARAMETERS)
{
    float m = mean_of(x + ROW, cols), v = variance_of(x + ROW, m, cols);
    EACH(c)
        if (blockIdx.x)
            y[ROW + c] = (x[ROW + c] - m) * rsqrtf(v + 1e-5f) * g[c];
    if (threadIdx.x == 0)
        mean[blockIdx.x] = m;
}
