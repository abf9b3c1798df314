// One thread a row. To try: one warp or one block a row, the row kept in registers or shared memory, float4.
extern "C" __global__ void softmax_naive(const float *x, float *y, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const float *in = x + (size_t)row * cols;
    float *out = y + (size_t)row * cols, most = in[0], sum = 0;
    for (int c = 1; c < cols; c++)
        most = fmaxf(most, in[c]);
    for (int c = 0; c < cols; c++)
        sum += expf(in[c] - most);
    for (int c = 0; c < cols; c++)
        out[c] = expf(in[c] - most) / sum;
}
