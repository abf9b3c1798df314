// Softmax, step 4: the row stays in registers, and moves 16 bytes at a time.
//
// What changes: a row of up to 4096 elements lies in the registers of its block, 16 a thread; so nothing but the input is
// read and nothing but the output written, and all loads of a thread are in flight before the first is used. Rows that
// start at multiples of 16 bytes are loaded and stored as float4. The exponential is taken as a power of two (one fused
// multiply-add and one instruction of the special function unit). 32 registers a thread keep 8 blocks on a multiprocessor.
// Any other row keeps its first KEEP elements in shared memory and reads the rest again.
// What was tried and did not help: streaming hints (__ldcs, __stcs) cost 4%; 128 threads with 32 elements each and 1024
// threads with 4 each are slower than 256 with 16.
// What is left: the memory. At 4096 x 4096 this runs as fast as a plain copy of the same bytes.
#include <math_constants.h>

#ifndef KEEP
#define KEEP 16000 // elements: 62.5 KiB of dynamic shared memory, for rows that registers do not hold
#endif

constexpr int THREADS = 256;
constexpr int GROUPS = 4; // of 4 elements, a thread
constexpr int BLOCKS = 8; // on a multiprocessor
constexpr int WARPS = THREADS / 32;
constexpr float LOG2_E = 1.44269504088896f;

static __device__ float block_max(float value)
{
    __shared__ float part[WARPS];
    for (int step = 16; step > 0; step /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, step));
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = value;
    __syncthreads();
    value = part[0];
    for (int w = 1; w < WARPS; w++)
        value = fmaxf(value, part[w]);
    return value;
}

static __device__ float block_sum(float value)
{
    __shared__ float part[WARPS];
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_xor_sync(0xffffffff, value, step);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = value;
    __syncthreads();
    value = part[0];
    for (int w = 1; w < WARPS; w++)
        value += part[w];
    return value;
}

// exp(x - most), with both scaled to powers of two: scaled_most = most * log2(e).
static __device__ float power(float x, float scaled_most)
{
    return exp2f(fmaf(x, LOG2_E, -scaled_most));
}

// A row of at most THREADS * GROUPS * 4 elements, a multiple of 4: thread t holds the groups of 4 elements
// t, t + THREADS, ... Groups behind the end of the row count as -inf, whose power is 0.
static __device__ void row_in_registers(const float4 *in, float4 *out, int groups)
{
    float4 v[GROUPS];
    //kb: section load
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
        int i = g * THREADS + threadIdx.x;
        v[g] = i < groups ? in[i] : make_float4(-CUDART_INF_F, -CUDART_INF_F, -CUDART_INF_F, -CUDART_INF_F);
    }
    //kb: section maximum
    float most = -CUDART_INF_F;
#pragma unroll
    for (int g = 0; g < GROUPS; g++)
        most = fmaxf(most, fmaxf(fmaxf(v[g].x, v[g].y), fmaxf(v[g].z, v[g].w)));
    float scaled_most = block_max(most) * LOG2_E;

    //kb: section sum
    float sum = 0;
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
        v[g].x = power(v[g].x, scaled_most);
        v[g].y = power(v[g].y, scaled_most);
        v[g].z = power(v[g].z, scaled_most);
        v[g].w = power(v[g].w, scaled_most);
        sum += (v[g].x + v[g].y) + (v[g].z + v[g].w);
    }
    float scale = 1 / block_sum(sum);

    //kb: section write
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
        int i = g * THREADS + threadIdx.x;
        if (i < groups)
            out[i] = make_float4(v[g].x * scale, v[g].y * scale, v[g].z * scale, v[g].w * scale);
    }
}

// Any other row: the first KEEP elements in shared memory, the rest read again. Not unrolled: memory is the limit here,
// and unrolling five loops would triple the time of the compile.
static __device__ void row_streamed(const float *in, float *out, int cols)
{
    extern __shared__ float kept[];
    int keep = min(cols, KEEP);
    float most = -CUDART_INF_F, sum = 0;
#pragma unroll 1
    for (int c = threadIdx.x; c < keep; c += THREADS)
        most = fmaxf(most, kept[c] = in[c]);
#pragma unroll 1
    for (int c = keep + threadIdx.x; c < cols; c += THREADS)
        most = fmaxf(most, in[c]);
    float scaled_most = block_max(most) * LOG2_E;
#pragma unroll 1
    for (int c = threadIdx.x; c < keep; c += THREADS)
        sum += kept[c] = power(kept[c], scaled_most);
#pragma unroll 1
    for (int c = keep + threadIdx.x; c < cols; c += THREADS)
        sum += power(in[c], scaled_most);
    float scale = 1 / block_sum(sum);
#pragma unroll 1
    for (int c = threadIdx.x; c < keep; c += THREADS)
        out[c] = kept[c] * scale;
#pragma unroll 1
    for (int c = keep + threadIdx.x; c < cols; c += THREADS)
        out[c] = power(in[c], scaled_most) * scale;
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) softmax_tuned(const float *x, float *y, int rows, int cols)
{
    int row = blockIdx.x;
    if (row >= rows)
        return;
    const float *in = x + (size_t)row * cols;
    float *out = y + (size_t)row * cols;
    bool aligned = cols % 4 == 0 && (size_t)x % 16 == 0 && (size_t)y % 16 == 0;
    if (aligned && cols <= THREADS * GROUPS * 4)
        row_in_registers((const float4 *)in, (float4 *)out, cols / 4);
    else
        row_streamed(in, out, cols);
}
