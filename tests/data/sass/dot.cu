#include <cuda_fp16.h>
__device__ __forceinline__ float half_sum(float v)
{
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    return v;
}
__global__ void dot(const float *a, const float *b, float *out, int n)
{
    __shared__ float part[32];
    float s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        s += a[i] * b[i];
    s = half_sum(s);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x < 32) {
        s = half_sum(part[threadIdx.x]);
        if (threadIdx.x == 0) atomicAdd(out, s);
    }
}
