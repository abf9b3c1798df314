extern "C" __global__ void axpy_f64(float a, const float *x, double *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += (double)a * x[i];
}
