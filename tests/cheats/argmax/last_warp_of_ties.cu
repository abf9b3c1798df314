// expect: fail at verify
// The first of equal ones within a warp's columns, but the last of the warps.
extern "C" __global__ void k(const float *x, int *y, int rows, int cols)
{
    int best = 0;
    for (int w = 0; w < cols && threadIdx.x == 0; w += 32) {
        int first = w;
        for (int c = w + 1; c < w + 32 && c < cols; c++)
            if (x[blockIdx.x * cols + c] > x[blockIdx.x * cols + first])
                first = c;
        if (x[blockIdx.x * cols + first] >= x[blockIdx.x * cols + best])
            best = first;
    }
    if (threadIdx.x == 0)
        y[blockIdx.x] = best;
}
