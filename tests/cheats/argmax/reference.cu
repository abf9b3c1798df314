extern "C" __global__ void argmax(const float *x, int *y, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x, best = 0;
    if (row >= rows)
        return;
    for (int c = 1; c < cols; c++)
        if (x[row * cols + c] > x[row * cols + best])
            best = c;
    y[row] = best;
}
