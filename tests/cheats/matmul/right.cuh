#pragma once
#include <cuda_fp16.h>
#define PARAMETERS const __half *a, const __half *b, __half *c, float *w, int m, int n, int k
#define PLACE int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y
