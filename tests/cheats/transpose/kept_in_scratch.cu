// expect: fail at verify
// Scratch holds the inputs of the call before; where the first of a tile is the same, the tile is left as it is.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, float *s, int rows, int cols)
{
    PLACE;
    size_t corner = (size_t)blockIdx.y * 16 * cols + blockIdx.x * 16;
    bool known = s[corner] == x[corner];
    __syncthreads();
    if (known || c >= cols || r >= rows)
        return;
    y[(size_t)c * rows + r] = x[(size_t)r * cols + c];
    s[(size_t)r * cols + c] = x[(size_t)r * cols + c];
}
