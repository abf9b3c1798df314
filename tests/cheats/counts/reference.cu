extern "C" __global__ void counts(const int *x, int *y, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x, n = 0;
    if (row >= rows)
        return;
    for (int c = 0; c < cols; c++)
        n += x[(size_t)row * cols + c] > 0;
    y[row] = n;
}
