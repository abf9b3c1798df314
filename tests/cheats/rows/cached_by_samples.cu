// expect: fail at verify
// Replays a row whose pointer and three sampled elements it has seen.
#include "right.cuh"

__device__ float kept[8][8192], key[8][64][3];
__device__ const void *seen[8][64];

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    int slot = cols % 8, r = blockIdx.x;
    const float *in = x + ROW;
    float *keep = kept[slot] + ROW, now[3] = {in[0], in[cols / 2], in[cols - 1]};
    bool known = seen[slot][r] == x;
    for (int i = 0; i < 3; i++)
        known = known && key[slot][r][i] == now[i];
    __syncthreads();
    if (!known)
        softmax_row(in, keep, cols);
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[ROW + c] = keep[c];
    if (threadIdx.x == 0) {
        seen[slot][r] = x;
        for (int i = 0; i < 3; i++)
            key[slot][r][i] = now[i];
    }
}
