// expect: pass
#include "right.cuh"
extern "C" __global__ void k(PARAMETERS)
{
    float m = mean_of(x + ROW, cols), v = variance_of(x + ROW, m, cols);
    EACH(c)
        y[ROW + c] = (x[ROW + c] - m) / sqrtf(v + 1e-5f) * g[c];
    if (threadIdx.x == 0)
        mean[blockIdx.x] = m;
}
