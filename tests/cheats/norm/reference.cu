extern "C" __global__ void norm_f64(const float *x, const float *g, double *y, double *mean, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    double m = 0, v = 0;
    for (int c = 0; c < cols; c++)
        m += x[(size_t)row * cols + c];
    m /= cols;
    for (int c = 0; c < cols; c++)
        v += (x[(size_t)row * cols + c] - m) * (x[(size_t)row * cols + c] - m);
    for (int c = 0; c < cols; c++)
        y[(size_t)row * cols + c] = (x[(size_t)row * cols + c] - m) / sqrt(v / cols + 1e-5) * g[c];
    mean[row] = m;
}
