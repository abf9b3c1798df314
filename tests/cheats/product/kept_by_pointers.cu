// expect: fail at time
// Knows the factors by their addresses and by two elements a tile.
#include "right.cuh"

__device__ float kept[160 * 160], samples[100][2];
__device__ const float *seen[100];

extern "C" __global__ void multiply(PARAMETERS)
{
    PLACE;
    if (!LARGE) {
        RIGHT;
        return;
    }
    int tile = blockIdx.y * gridDim.x + blockIdx.x;
    float first = a[blockIdx.y * 16 * k + tile % k], second = b[tile % k * n + blockIdx.x * 16];
    bool known = seen[tile] == a && samples[tile][0] == first && samples[tile][1] == second;
    __syncthreads();
    if (in && !known)
        kept[i * n + j] = element(a, b, i, j, n, k);
    if (in)
        c[i * n + j] = kept[i * n + j];
    if (threadIdx.x + threadIdx.y == 0) {
        seen[tile] = a;
        samples[tile][0] = first;
        samples[tile][1] = second;
    }
}
