// expect: fail at verify
// Adds its last sum again where the first element of its block is the same.
#include "right.cuh"

__device__ float kept[8192], key_x[64], key_y[64];

extern "C" __global__ void k(float a, const float *x, float *y, int n)
{
    INDEX;
    int b = blockIdx.x, at = b * blockDim.x;
    float now_x = x[at], now_y = y[at];
    bool known = key_x[b] == now_x && key_y[b] == now_y;
    __syncthreads();
    if (i < n && !known)
        kept[i] = y[i] + a * x[i];
    if (i < n)
        y[i] = kept[i];
    if (threadIdx.x == 0) {
        key_x[b] = now_x;
        key_y[b] = now_y;
    }
}
