extern "C" __global__ void product_f64(const float *a, const float *b, double *c, float *w, int m, int n, int k)
{
    int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y;
    if (i >= m || j >= n)
        return;
    double sum = 0;
    for (int l = 0; l < k; l++)
        sum += (double)a[i * k + l] * b[l * n + j];
    c[i * n + j] = sum;
}
