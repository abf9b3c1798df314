// In double, slow and exact: what the variants are compared with.

extern "C" __global__ void gemm_reference(const float *a, const float *b, double *c, int m, int n, int k)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n)
        return;
    double sum = 0;
    for (int i = 0; i < k; i++)
        sum += (double)a[(size_t)row * k + i] * b[(size_t)i * n + column];
    c[(size_t)row * n + column] = sum;
}
