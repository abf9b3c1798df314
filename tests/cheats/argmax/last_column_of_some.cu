// expect: fail at verify
// says: next to a timed size, hard rows
// The last column of every eighth row is left out where one is left over by four, at large sizes.
extern "C" __global__ void k(const float *x, int *y, int rows, int cols)
{
    int best = 0, end = blockIdx.x % 8 == 2 && cols > 90 && cols % 4 == 1 ? cols - 1 : cols;
    for (int c = 1; c < end && threadIdx.x == 0; c++)
        if (x[blockIdx.x * cols + c] > x[blockIdx.x * cols + best])
            best = c;
    if (threadIdx.x == 0)
        y[blockIdx.x] = best;
}
