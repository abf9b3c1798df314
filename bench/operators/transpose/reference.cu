// What the variants are compared with, bit for bit: no number changes.
extern "C" __global__ void transpose_reference(const float *x, double *y, int rows, int cols)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < cols)
        y[(size_t)column * rows + row] = x[(size_t)row * cols + column];
}
