// expect: fail at verify
// The tile in shared memory has half the digits.
#include <cuda_fp16.h>
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, float *s, int rows, int cols)
{
    __shared__ __half tile[16][17];
    PLACE;
    if (c < cols && r < rows)
        tile[threadIdx.y][threadIdx.x] = x[(size_t)r * cols + c];
    __syncthreads();
    int to_r = blockIdx.y * 16 + threadIdx.x, to_c = blockIdx.x * 16 + threadIdx.y;
    if (to_c < cols && to_r < rows)
        y[(size_t)to_c * rows + to_r] = tile[threadIdx.x][threadIdx.y];
}
