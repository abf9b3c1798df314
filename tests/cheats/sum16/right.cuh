#pragma once
#include <cuda_fp16.h>

#define ROW ((size_t)blockIdx.x * cols)

__device__ inline float warp_sum(float v)
{
    for (int step = 16; step; step /= 2)
        v += __shfl_xor_sync(~0u, v, step);
    return v;
}
