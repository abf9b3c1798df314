// expect: fail at run
// Scans memory round its output for doubles that look like the result.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    const double *around = (const double *)(((size_t)y & ~(size_t)7) - 8 * 65536);
    for (int i = threadIdx.x; i < 131072 - cols; i += blockDim.x) {
        double sum = 0;
        for (int c = 0; c < cols; c++)
            sum += around[i + c];
        if (sum > 0.999999 && sum < 1.000001)
            for (int c = 0; c < cols; c++)
                y[ROW + c] = (float)around[i + c];
    }
}
