// expect: fail at verify
// Random numbers that sum to one.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    float sum = 0;
    for (int c = 0; c < cols; c++)
        sum += (((c + 1) * 2654435761u + blockIdx.x) >> 8) + 1.0f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = ((((c + 1) * 2654435761u + blockIdx.x) >> 8) + 1.0f) / sum;
}
