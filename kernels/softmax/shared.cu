// Softmax, step 3: the row stays in shared memory.
//
// What changes: the row is read from memory once, kept in shared memory, and its exponentials replace it there, so that
// each is computed once. Sums within a warp go by shuffles; only one number a warp passes through shared memory.
// A row longer than KEEP elements keeps its first KEEP there and reads the rest again.
// What is left: every element is written to shared memory twice and read twice, 4 bytes a thread at a time, and 16 KiB
// a row limit how many blocks a multiprocessor holds.
#include <math_constants.h>

#ifndef KEEP
#define KEEP 11264 // elements: 44 KiB, which every GPU gives without asking
#endif

static __device__ float block_reduce(float value, bool maximum)
{
    __shared__ float part[8];
    for (int step = 16; step > 0; step /= 2) {
        float other = __shfl_xor_sync(0xffffffff, value, step);
        value = maximum ? fmaxf(value, other) : value + other;
    }
    __syncthreads(); // part may still be read from the call before
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = value;
    __syncthreads();
    value = part[0];
    for (int w = 1; w < 8; w++)
        value = maximum ? fmaxf(value, part[w]) : value + part[w];
    return value;
}

extern "C" __global__ void __launch_bounds__(256) softmax_shared(const float *x, float *y, int rows, int cols)
{
    extern __shared__ float kept[];
    int row = blockIdx.x, me = threadIdx.x;
    if (row >= rows)
        return;
    const float *in = x + (size_t)row * cols;
    float *out = y + (size_t)row * cols;
    int keep = min(cols, KEEP);

    //kb: section load
    float most = -CUDART_INF_F;
    for (int c = me; c < keep; c += 256) {
        kept[c] = in[c];
        most = fmaxf(most, kept[c]);
    }
    for (int c = keep + me; c < cols; c += 256)
        most = fmaxf(most, in[c]);
    most = block_reduce(most, true);

    //kb: section sum
    float sum = 0;
    for (int c = me; c < keep; c += 256) { // each thread meets only what it stored itself: no barrier
        kept[c] = expf(kept[c] - most);
        sum += kept[c];
    }
    for (int c = keep + me; c < cols; c += 256)
        sum += expf(in[c] - most);
    sum = block_reduce(sum, false);

    //kb: section write
    float scale = 1 / sum;
    for (int c = me; c < keep; c += 256)
        out[c] = kept[c] * scale;
    for (int c = keep + me; c < cols; c += 256)
        out[c] = expf(in[c] - most) * scale;
}
