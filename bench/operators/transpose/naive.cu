// Reads are coalesced, writes are not: each thread of a warp writes to another row. To try: a tile of 32 x 33 elements
// in shared memory.
extern "C" __global__ void transpose_naive(const float *x, float *y, int rows, int cols)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < cols)
        y[(size_t)column * rows + row] = x[(size_t)row * cols + column];
}
