#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>
__device__ __noinline__ float slow(float x, int n)
{
    for (int i = 0; i < n; i++)
        x = x * x + 1;
    return x;
}
__global__ void variety(const float4 *a, float4 *b, double *d, int n, int idx)
{
    float local[16];
    for (int i = 0; i < 16; i++)
        local[i] = i * threadIdx.x;
    local[idx] = 3;
    __shared__ float4 tile[128];
    __pipeline_memcpy_async(&tile[threadIdx.x], &a[threadIdx.x], 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    __threadfence();
    float4 v = tile[threadIdx.x ^ 1];
    v.x = __expf(v.x) + local[idx + 1];
    v.w = slow(v.z, n);
    b[threadIdx.x] = v;
    d[threadIdx.x] = d[threadIdx.x] * 3.0 + d[n];
    atomicAdd((float *)d, v.x);
    switch (n) {
    case 0: d[5] = 1; break;
    case 1: d[6] = d[7]; break;
    case 2: d[8] *= d[9]; break;
    case 3: d[10] = d[11] + 1; break;
    case 4: d[12] = d[13] - 2; break;
    }
}
__global__ void matrix(half *a, half *b, float *c)
{
    using namespace nvcuda;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.f);
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
__global__ void halves(half2 *a, half2 b) { a[threadIdx.x] = __hfma2(a[threadIdx.x], b, b); }
