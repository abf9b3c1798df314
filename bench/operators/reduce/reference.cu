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

extern "C" __global__ void reduce_reference(const float *x, double *out, int n)
{
    double sum = 0;
    for (int i = threadIdx.x; i < n; i += 256)
        sum += x[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        *out = sum;
}
