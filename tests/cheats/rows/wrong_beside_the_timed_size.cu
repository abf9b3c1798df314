// expect: fail at verify
// says: next to a timed size
// Right for every case of the bench, and for no row of one element more than is timed.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    __syncthreads();
    if (cols == 130 && threadIdx.x == 0)
        y[(size_t)blockIdx.x * cols + cols - 1] = 0.5f;
}
