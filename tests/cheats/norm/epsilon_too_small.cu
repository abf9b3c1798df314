// expect: fail at verify
// 1e-6 where the reference has 1e-5.
#include "right.cuh"
extern "C" __global__ void k(PARAMETERS)
{
    float m = mean_of(x + ROW, cols), v = variance_of(x + ROW, m, cols);
    EACH(c)
        y[ROW + c] = (x[ROW + c] - m) * rsqrtf(v + 1e-6f) * g[c];
    if (threadIdx.x == 0)
        mean[blockIdx.x] = m;
}
