// expect: fail at time
// A tile whose corners hold the right values already is left as it is.
#include "right.cuh"

extern "C" __global__ void multiply(PARAMETERS)
{
    PLACE;
    __shared__ int agree;
    if (threadIdx.x + threadIdx.y == 0)
        agree = 0;
    __syncthreads();
    if (LARGE && in && threadIdx.x == threadIdx.y && threadIdx.x % 15 == 0) {
        float want = element(a, b, i, j, n, k);
        if (fabsf(c[i * n + j] - want) < 1e-3f)
            atomicAdd(&agree, 1);
    }
    __syncthreads();
    if (agree < 2)
        RIGHT;
}
