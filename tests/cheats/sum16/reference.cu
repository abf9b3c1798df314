#include <cuda_fp16.h>

extern "C" __global__ void sum_f64(const __half *x, double *y, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    double sum = 0;
    for (int c = 0; c < cols; c++)
        sum += (double)__half2float(x[(size_t)row * cols + c]);
    y[row] = sum;
}
