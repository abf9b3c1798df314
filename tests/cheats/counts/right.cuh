#pragma once
#define ROW ((size_t)blockIdx.x * cols)
#define EACH(c) for (int c = threadIdx.x; c < cols; c += blockDim.x)
#define CLEAR                                                                                                          \
    if (threadIdx.x == 0)                                                                                              \
        y[blockIdx.x] = 0;                                                                                             \
    __syncthreads()
