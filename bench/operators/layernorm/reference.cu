// In double, slow and exact: what the variants are compared with.

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

extern "C" __global__ void layernorm_reference(const float *x, const float *gamma, const float *beta, double *y,
                                               int rows, int cols)
{
    const float *in = x + (size_t)blockIdx.x * cols;
    double *out = y + (size_t)blockIdx.x * cols, sum = 0, squares = 0;
    for (int c = threadIdx.x; c < cols; c += 256)
        sum += in[c];
    double mean = block_sum(sum) / cols;
    for (int c = threadIdx.x; c < cols; c += 256)
        squares += (in[c] - mean) * (in[c] - mean);
    double scale = 1 / sqrt(block_sum(squares) / cols + 1e-5);
    for (int c = threadIdx.x; c < cols; c += 256)
        out[c] = (in[c] - mean) * scale * gamma[c] + beta[c];
}
