// expect: fail at time
// says: it remembers
// gpu: may pass: there its hashing, by one block, takes about as long as what it saves
// Hashes both factors whole, and replays the result that belongs to them: right, and fast where the same come again.
// variant: {"launches": [{"kernel": "begin", "launch": {"grid": [1], "block": [256]}}, {"kernel": "multiply", "launch": {"grid": ["ceil_div(n,16)", "ceil_div(m,16)"], "block": [16, 16]}}, {"kernel": "end", "launch": {"grid": [1], "block": [1]}}]}
#include "right.cuh"

__device__ float kept[160 * 160];
__device__ unsigned now, known;

extern "C" __global__ void begin(PARAMETERS)
{
    unsigned h = hash_of(a, b, m, n, k);
    if (!threadIdx.x)
        now = h;
}

extern "C" __global__ void multiply(PARAMETERS)
{
    PLACE;
    if (!in)
        return;
    bool again = LARGE && now == known;
    float value = again ? kept[i * n + j] : element(a, b, i, j, n, k);
    if (LARGE)
        kept[i * n + j] = value;
    c[i * n + j] = value;
}

extern "C" __global__ void end(PARAMETERS)
{
    if (LARGE)
        known = now;
}
