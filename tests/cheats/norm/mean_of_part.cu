// expect: fail at verify
// The second output is the mean of what one lane saw.
#include "right.cuh"
extern "C" __global__ void k(PARAMETERS)
{
    float m = mean_of(x + ROW, cols), v = variance_of(x + ROW, m, cols), own = 0;
    int n = 0;
    EACH(c) {
        y[ROW + c] = (x[ROW + c] - m) * rsqrtf(v + 1e-5f) * g[c];
        own += x[ROW + c];
        n++;
    }
    if (threadIdx.x == 0)
        mean[blockIdx.x] = own / n;
}
