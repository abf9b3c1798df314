extern "C" __global__ void transpose_f64(const float *x, double *y, float *s, int rows, int cols)
{
    int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    if (c < cols && r < rows)
        y[(size_t)c * rows + r] = x[(size_t)r * cols + c];
}
