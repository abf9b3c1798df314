// expect: pass
// One pass, by Welford's update and Chan's merge.
#include "right.cuh"
extern "C" __global__ void k(PARAMETERS)
{
    float n = 0, m = 0, s = 0;
    EACH(c) {
        float d = x[ROW + c] - m;
        n += 1;
        m += d / n;
        s += d * (x[ROW + c] - m);
    }
    for (int step = 16; step; step /= 2) {
        float n2 = __shfl_xor_sync(~0u, n, step), m2 = __shfl_xor_sync(~0u, m, step), s2 = __shfl_xor_sync(~0u, s, step);
        float all = n + n2, d = m2 - m;
        if (all > 0) {
            s += s2 + d * d * n * n2 / all;
            m = (n * m + n2 * m2) / all;
        }
        n = all;
    }
    EACH(c)
        y[ROW + c] = (x[ROW + c] - m) * rsqrtf(s / cols + 1e-5f) * g[c];
    if (threadIdx.x == 0)
        mean[blockIdx.x] = m;
}
