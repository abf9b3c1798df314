// One thread an element of c. To try: tiles in shared memory, then several elements a thread in registers, float4.
// A kernel with another order of parameters gets "args": ["c", "a", "b", "n", "m", "k"] in its variant.
extern "C" __global__ void gemm_naive(const float *a, const float *b, float *c, int m, int n, int k)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n)
        return;
    float sum = 0;
    for (int i = 0; i < k; i++)
        sum += a[(size_t)row * k + i] * b[(size_t)i * n + column];
    c[(size_t)row * n + column] = sum;
}
