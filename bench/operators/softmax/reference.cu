// In double, slow and exact: what the variants are compared with.
#include <math_constants.h>

// The sum over the 256 threads of the block.
static __device__ double block_sum(double value)
{
    __shared__ double part[256];
    part[threadIdx.x] = value;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    double sum = part[0];
    __syncthreads();
    return sum;
}

// The largest over the 256 threads of the block.
static __device__ double block_max(double value)
{
    __shared__ double part[256];
    part[threadIdx.x] = value;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] = fmax(part[threadIdx.x], part[threadIdx.x + half]);
        __syncthreads();
    }
    double most = part[0];
    __syncthreads();
    return most;
}

extern "C" __global__ void softmax_reference(const float *x, double *y, int rows, int cols)
{
    const float *in = x + (size_t)blockIdx.x * cols;
    double *out = y + (size_t)blockIdx.x * cols, most = -CUDART_INF, sum = 0;
    for (int c = threadIdx.x; c < cols; c += 256)
        most = fmax(most, (double)in[c]);
    most = block_max(most);
    for (int c = threadIdx.x; c < cols; c += 256)
        sum += exp(in[c] - most);
    sum = block_sum(sum);
    for (int c = threadIdx.x; c < cols; c += 256)
        out[c] = exp(in[c] - most) / sum;
}
