#include <cuda_fp16.h>
extern "C" __global__ void matmul_f64(const __half *a, const __half *b, double *c, float *w, int m, int n, int k)
{
    int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y;
    if (i >= m || j >= n)
        return;
    double sum = 0;
    for (int p = 0; p < k; p++)
        sum += (double)__half2float(a[i * k + p]) * (double)__half2float(b[p * n + j]);
    c[i * n + j] = sum;
}
