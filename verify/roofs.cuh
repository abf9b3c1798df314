// Kernels whose speed is a roof: copying, fp32 multiply-adds, tensor cores. Included by element.cu; launched by
// profiles/roofs.c, which knows the counts below.
#define KB_ROOF_FP32_CHAINS 8 // independent chains a thread, to hide the latency of a multiply-add
#define KB_ROOF_FP32_STEPS 16 // multiply-adds of each chain an iteration
#define KB_ROOF_TENSOR_CHAINS 4 // independent products a warp
#define KB_ROOF_TENSOR_FLOPS 4096 // 2 x 16 x 8 x 16, one m16n8k16 product

// What the method of timing itself takes.
extern "C" __global__ void kb_empty(float *, const float *, int)
{
}

extern "C" __global__ void kb_roof_copy(float4 *to, const float4 *from, size_t n)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        to[i] = from[i];
}

extern "C" __global__ void __launch_bounds__(256) kb_roof_fp32(float *out, int iterations)
{
    float chain[KB_ROOF_FP32_CHAINS], a = 0.999f + threadIdx.x * 1e-7f, b = 1e-3f;
#pragma unroll
    for (int c = 0; c < KB_ROOF_FP32_CHAINS; c++)
        chain[c] = threadIdx.x + c;
    for (int i = 0; i < iterations; i++)
#pragma unroll
        for (int s = 0; s < KB_ROOF_FP32_STEPS; s++)
#pragma unroll
            for (int c = 0; c < KB_ROOF_FP32_CHAINS; c++)
                chain[c] = fmaf(chain[c], a, b);
    float sum = 0;
#pragma unroll
    for (int c = 0; c < KB_ROOF_FP32_CHAINS; c++)
        sum += chain[c];
    if (sum == -1) // never: all values are positive; the compiler cannot know
        out[blockIdx.x] = sum;
}

// bf16 products by mma.sync, which every tensor core since sm_80 has. Hopper's own wgmma is faster, so this roof is a
// measured speed of one instruction, not the limit of the machine. Does nothing below sm_80.
extern "C" __global__ void __launch_bounds__(256) kb_roof_tensor(float *out, int iterations)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    float d[KB_ROOF_TENSOR_CHAINS][4];
    unsigned a[4], b[2];
    for (int i = 0; i < 4; i++)
        a[i] = 0x3c003c00u + threadIdx.x; // small positive numbers
    for (int i = 0; i < 2; i++)
        b[i] = 0x3c003c00u + threadIdx.x;
#pragma unroll
    for (int c = 0; c < KB_ROOF_TENSOR_CHAINS; c++)
        d[c][0] = d[c][1] = d[c][2] = d[c][3] = 0;
    for (int i = 0; i < iterations; i++)
#pragma unroll
        for (int c = 0; c < KB_ROOF_TENSOR_CHAINS; c++)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                         "{%0,%1,%2,%3};"
                         : "+f"(d[c][0]), "+f"(d[c][1]), "+f"(d[c][2]), "+f"(d[c][3])
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    float sum = 0;
#pragma unroll
    for (int c = 0; c < KB_ROOF_TENSOR_CHAINS; c++)
        sum += d[c][0] + d[c][1] + d[c][2] + d[c][3];
    if (sum == -1)
        out[blockIdx.x] = sum;
#endif
}
