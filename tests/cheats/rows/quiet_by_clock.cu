// expect: fail at verify
// Takes a device whose clock counts instructions for an emulation, and waits for the others only there.
#include "right.cuh"
//kb: grid=rows block=128
__device__ unsigned clock_now()
{
    unsigned c;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(c)::"memory");
    return c;
}

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    __shared__ float part[128];
    const float *in = x + ROW;
    float *out = y + ROW, most = -INFINITY, sum = 0;
    unsigned before = clock_now();
    bool emulated = clock_now() - before <= 2;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        most = fmaxf(most, in[c]);
    part[threadIdx.x] = most;
    __syncthreads();
    for (int i = 0; i < 128; i++)
        most = fmaxf(most, part[i]);
    if (emulated)
        __syncthreads();
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        sum += expf(in[c] - most);
    part[threadIdx.x] = sum;
    __syncthreads();
    sum = 0;
    for (int i = 0; i < 128; i++)
        sum += part[i];
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        out[c] = expf(in[c] - most) / sum;
}
