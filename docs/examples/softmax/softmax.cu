// One block a row, three passes over it: a start, to be made faster.
#include <math_constants.h>

__device__ float over_the_block(float v, bool largest)
{
    __shared__ float part[8];
    for (int step = 16; step; step /= 2) {
        float other = __shfl_xor_sync(~0u, v, step);
        v = largest ? fmaxf(v, other) : v + other;
    }
    __syncthreads(); // everybody has read what the call before left in part
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    v = part[0];
    for (int w = 1; w < 8; w++)
        v = largest ? fmaxf(v, part[w]) : v + part[w];
    return v;
}

//kb: grid=rows block=256
extern "C" __global__ void softmax(const float *x, float *y, int rows, int cols)
{
    const float *in = x + (size_t)blockIdx.x * cols;
    float *out = y + (size_t)blockIdx.x * cols, most = -CUDART_INF_F, sum = 0;
    //kb: section maximum
    for (int c = threadIdx.x; c < cols; c += 256)
        most = fmaxf(most, in[c]);
    most = over_the_block(most, true);
    //kb: section sum
    for (int c = threadIdx.x; c < cols; c += 256)
        sum += expf(in[c] - most);
    sum = over_the_block(sum, false);
    //kb: section write
    for (int c = threadIdx.x; c < cols; c += 256)
        out[c] = expf(in[c] - most) / sum;
}
