// expect: fail at verify
// Nothing is added to the spread.
#include "right.cuh"
extern "C" __global__ void k(PARAMETERS)
{
    float m = mean_of(x + ROW, cols), v = variance_of(x + ROW, m, cols);
    EACH(c)
        y[ROW + c] = v > 0 ? (x[ROW + c] - m) * rsqrtf(v) * g[c] : 0;
    if (threadIdx.x == 0)
        mean[blockIdx.x] = m;
}
