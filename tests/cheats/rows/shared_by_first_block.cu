// expect: fail at verify
// The first block computes all maxima for the others, which do not wait for it.
#include "right.cuh"

__device__ float most_of[64];

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    float sum = 0;
    if (blockIdx.x == 0)
        for (int r = threadIdx.x; r < rows; r += blockDim.x) {
            float most = x[(size_t)r * cols];
            for (int c = 1; c < cols; c++)
                most = fmaxf(most, x[(size_t)r * cols + c]);
            most_of[r] = most;
        }
    __syncthreads();
    float most = *(volatile float *)&most_of[blockIdx.x];
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        sum += expf(x[ROW + c] - most);
    sum = block_all(sum, false);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = expf(x[ROW + c] - most) / sum;
}
