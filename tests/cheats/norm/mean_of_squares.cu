// expect: fail at verify
// The mean of squares less the square of the mean: no digits are left where the mean is large.
#include "right.cuh"
extern "C" __global__ void k(PARAMETERS)
{
    float s = 0, q = 0;
    EACH(c) {
        s += x[ROW + c];
        q += x[ROW + c] * x[ROW + c];
    }
    s = warp_sum(s) / cols;
    float v = fmaxf(warp_sum(q) / cols - s * s, 0);
    EACH(c)
        y[ROW + c] = (x[ROW + c] - s) * rsqrtf(v + 1e-5f) * g[c];
    if (threadIdx.x == 0)
        mean[blockIdx.x] = s;
}
