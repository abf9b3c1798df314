// Softmax, step 4: the row stays in registers, and moves 16 bytes at a time.
//
// What changes: up to 8192 elements of a row lie in the registers of its block, 16 a thread at most; so nothing but the
// input is read and nothing but the output written, and all loads of a thread are in flight before the first is used.
// Where rows start at multiples of 16 bytes they are loaded and stored as float4. The exponential is taken as a power of
// two (one fused multiply-add and one instruction of the special function unit).
// Longer rows keep their first KEEP elements in shared memory and read the rest again.
// What is left: the memory. At 4096 x 4096 this runs as fast as a plain copy of the same bytes.
#include <math_constants.h>

#ifndef KEEP
#define KEEP 16000 // elements: 62.5 KiB of dynamic shared memory, for rows that registers do not hold
#endif

constexpr int THREADS = 512, WARPS = THREADS / 32;
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

// Rows of up to GROUPS * 2048 elements, in registers: thread t holds the groups of 4 elements t, t + 512, ...
template <int GROUPS, bool ALIGNED> static __device__ void row_in_registers(const float *in, float *out, int cols)
{
    float4 v[GROUPS];
    //kb: section load
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
        int c = (g * THREADS + threadIdx.x) * 4;
        if (ALIGNED && c < cols) {
            v[g] = __ldcs((const float4 *)(in + c)); // read once: leave the caches to others
        } else {
            v[g].x = c < cols ? in[c] : -CUDART_INF_F;
            v[g].y = c + 1 < cols ? in[c + 1] : -CUDART_INF_F;
            v[g].z = c + 2 < cols ? in[c + 2] : -CUDART_INF_F;
            v[g].w = c + 3 < cols ? in[c + 3] : -CUDART_INF_F;
        }
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
        int c = (g * THREADS + threadIdx.x) * 4;
        float4 r = make_float4(v[g].x * scale, v[g].y * scale, v[g].z * scale, v[g].w * scale);
        if (ALIGNED && c < cols) {
            __stcs((float4 *)(out + c), r);
        } else if (!ALIGNED) {
            if (c < cols)
                out[c] = r.x;
            if (c + 1 < cols)
                out[c + 1] = r.y;
            if (c + 2 < cols)
                out[c + 2] = r.z;
            if (c + 3 < cols)
                out[c + 3] = r.w;
        }
    }
}

static __device__ void row_streamed(const float *in, float *out, int cols)
{
    extern __shared__ float kept[];
    int keep = min(cols, KEEP);
    float most = -CUDART_INF_F, sum = 0;
    for (int c = threadIdx.x; c < keep; c += THREADS)
        most = fmaxf(most, kept[c] = in[c]);
    for (int c = keep + threadIdx.x; c < cols; c += THREADS)
        most = fmaxf(most, in[c]);
    float scaled_most = block_max(most) * LOG2_E;
    for (int c = threadIdx.x; c < keep; c += THREADS)
        sum += kept[c] = power(kept[c], scaled_most);
    for (int c = keep + threadIdx.x; c < cols; c += THREADS)
        sum += power(in[c], scaled_most);
    float scale = 1 / block_sum(sum);
    for (int c = threadIdx.x; c < keep; c += THREADS)
        out[c] = kept[c] * scale;
    for (int c = keep + threadIdx.x; c < cols; c += THREADS)
        out[c] = power(in[c], scaled_most) * scale;
}

extern "C" __global__ void __launch_bounds__(THREADS) softmax_tuned(const float *x, float *y, int rows, int cols)
{
    int row = blockIdx.x;
    if (row >= rows)
        return;
    const float *in = x + (size_t)row * cols;
    float *out = y + (size_t)row * cols;
    bool aligned = cols % 4 == 0 && (size_t)x % 16 == 0 && (size_t)y % 16 == 0;
    if (cols > 8192)
        row_streamed(in, out, cols);
    else if (!aligned)
        row_in_registers<4, false>(in, out, cols);
    else if (cols > 4096)
        row_in_registers<4, true>(in, out, cols);
    else
        row_in_registers<2, true>(in, out, cols);
}
