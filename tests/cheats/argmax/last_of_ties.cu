// expect: fail at verify
extern "C" __global__ void k(const float *x, int *y, int rows, int cols)
{
    int best = 0;
    for (int c = 1; c < cols && threadIdx.x == 0; c++)
        if (x[blockIdx.x * cols + c] >= x[blockIdx.x * cols + best])
            best = c;
    if (threadIdx.x == 0)
        y[blockIdx.x] = best;
}
