// expect: fail at verify
// Remembers where it wrote to, and copies that while pointer and first element of the row are the same.
#include "right.cuh"

__device__ const float *seen_x[64];
__device__ float *written[64], first[64];
__device__ int width;

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    __shared__ bool known;
    int r = blockIdx.x;
    float now = x[ROW];
    if (threadIdx.x == 0)
        known = seen_x[r] == x && first[r] == now && written[r] != y && *(volatile int *)&width == cols;
    float *from = written[r];
    __syncthreads();
    if (known)
        for (int c = threadIdx.x; c < cols; c += blockDim.x)
            y[ROW + c] = from[ROW + c];
    else
        RIGHT;
    if (threadIdx.x == 0) {
        seen_x[r] = x;
        first[r] = now;
        written[r] = y;
        if (r + 1 == gridDim.x)
            width = cols;
    }
}
