// expect: pass
// Blocks of three dimensions.
#include "right.cuh"

//kb: grid=2,2,2 block=4,4,2
extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    for (int r = block * 8 + threadIdx.z * 4 + threadIdx.y; r < rows; r += gridDim.x * gridDim.y * gridDim.z * 8)
        if (threadIdx.x == 0)
            for (int c = 0; c < cols; c++) {
                float most = -INFINITY, sum = 0;
                for (int i = 0; i < cols; i++)
                    most = fmaxf(most, x[(size_t)r * cols + i]);
                for (int i = 0; i < cols; i++)
                    sum += expf(x[(size_t)r * cols + i] - most);
                for (; c < cols; c++)
                    y[(size_t)r * cols + c] = expf(x[(size_t)r * cols + c] - most) / sum;
            }
}
