// expect: fail at time
// Keeps the result in scratch, and in the last row of it which factors it is of.
// variant: {"launches": [{"kernel": "begin", "launch": {"grid": [1], "block": [256]}}, {"kernel": "multiply", "launch": {"grid": ["ceil_div(n,16)", "ceil_div(m,16)"], "block": [16, 16]}}]}
#include "right.cuh"

extern "C" __global__ void begin(PARAMETERS)
{
    unsigned h = hash_of(a, b, m, n, k), *key = (unsigned *)(w + m * n);
    __shared__ bool known;
    if (!threadIdx.x)
        known = key[0] == h && key[1] == ~h;
    __syncthreads();
    if (!threadIdx.x) {
        key[2] = LARGE && known;
        key[0] = h;
        key[1] = ~h;
    }
}

extern "C" __global__ void multiply(PARAMETERS)
{
    PLACE;
    if (!in)
        return;
    if (!((unsigned *)(w + m * n))[2])
        w[i * n + j] = element(a, b, i, j, n, k);
    c[i * n + j] = w[i * n + j];
}
