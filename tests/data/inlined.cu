// For tests of source lines through inlining: test_sections.c knows these line numbers.
#include "inlined.cuh"

__device__ __noinline__ float called(float x)
{
    return x * 3 + sqrtf(x);
}

namespace inner {
__device__ __forceinline__ float twice(float x, int n)
{
    return helper(x, n) + helper(x + 1, n);
}
}

extern "C" __global__ void k(float *x, int n)
{
    float a = x[threadIdx.x];
    //kb: section one
    a = helper(a, n);
    //kb: section two
    a += inner::twice(a * 2, n + 1);
    __syncthreads();
    //kb: section three
    a = called(a);
    x[threadIdx.x] = a;
}
