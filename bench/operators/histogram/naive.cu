// One atomic in global memory a value. To try: a histogram of each block in shared memory, several of them a block,
// int4 loads, counting runs of equal values.
extern "C" __global__ void histogram_clear(int *counts)
{
    counts[threadIdx.x] = 0;
}

extern "C" __global__ void histogram_naive(const int *x, int *counts, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&counts[x[i]], 1);
}
