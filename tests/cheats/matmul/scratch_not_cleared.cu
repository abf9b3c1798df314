// expect: fail at run
// Adds to what is in scratch and clears it at the end for the next time.
// variant: {"launches": [{"kernel": "part", "launch": {"grid": ["ceil_div(n,16)", "ceil_div(m,16)"], "block": [16, 16]}}, {"kernel": "finish", "launch": {"grid": ["ceil_div(n,16)", "ceil_div(m,16)"], "block": [16, 16]}}]}
#include "right.cuh"
extern "C" __global__ void part(PARAMETERS)
{
    PLACE;
    float sum = 0;
    for (int p = 0; p < k && i < m && j < n; p++)
        sum += __half2float(a[i * k + p]) * __half2float(b[p * n + j]);
    if (i < m && j < n)
        atomicAdd(w + i * n + j, sum);
}
extern "C" __global__ void finish(PARAMETERS)
{
    PLACE;
    if (i < m && j < n) {
        c[i * n + j] = __float2half(w[i * n + j]);
        w[i * n + j] = 0;
    }
}
