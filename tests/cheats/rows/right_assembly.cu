// expect: pass
// Inline PTX.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        float v;
        asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(y + ROW + c));
        asm volatile("st.global.f32 [%0], %1;" ::"l"(y + ROW + c), "f"(v));
    }
}
