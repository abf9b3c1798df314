// expect: pass
// Four parts of k, added by atomics in scratch that the first launch clears.
// variant: {"launches": [{"kernel": "clear", "launch": {"grid": ["ceil_div(n,16)", "ceil_div(m,16)"], "block": [16, 16]}}, {"kernel": "part", "launch": {"grid": ["ceil_div(n,16)", "ceil_div(m,16)", 4], "block": [16, 16]}}, {"kernel": "finish", "launch": {"grid": ["ceil_div(n,16)", "ceil_div(m,16)"], "block": [16, 16]}}]}
#include "right.cuh"
extern "C" __global__ void clear(PARAMETERS)
{
    PLACE;
    if (i < m && j < n)
        w[i * n + j] = 0;
}
extern "C" __global__ void part(PARAMETERS)
{
    PLACE;
    float sum = 0;
    for (int p = blockIdx.z; p < k && i < m && j < n; p += 4)
        sum += __half2float(a[i * k + p]) * __half2float(b[p * n + j]);
    if (i < m && j < n)
        atomicAdd(w + i * n + j, sum);
}
extern "C" __global__ void finish(PARAMETERS)
{
    PLACE;
    if (i < m && j < n)
        c[i * n + j] = __float2half(w[i * n + j]);
}
