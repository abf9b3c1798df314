// expect: pass
// One pass round the first element of the row.
#include "right.cuh"
extern "C" __global__ void k(PARAMETERS)
{
    float s = 0, q = 0, at = x[ROW];
    EACH(c) {
        float d = x[ROW + c] - at;
        s += d;
        q += d * d;
    }
    s = warp_sum(s) / cols;
    float v = fmaxf(warp_sum(q) / cols - s * s, 0);
    EACH(c)
        y[ROW + c] = (x[ROW + c] - at - s) * rsqrtf(v + 1e-5f) * g[c];
    if (threadIdx.x == 0)
        mean[blockIdx.x] = at + s;
}
