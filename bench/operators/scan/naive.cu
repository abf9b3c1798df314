// One block, and each thread a part of its own. To try: neighbouring threads on neighbouring elements with a scan by
// shuffles, many blocks in two passes, then one pass with look-back.
extern "C" __global__ void scan_naive(const float *x, float *out, int n)
{
    __shared__ float part[1024];
    int each = (n + 1023) / 1024, first = min(n, each * (int)threadIdx.x), end = min(n, first + each);
    float sum = 0;
    for (int i = first; i < end; i++)
        sum += x[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    sum = 0;
    for (int t = 0; t < threadIdx.x; t++)
        sum += part[t];
    for (int i = first; i < end; i++)
        out[i] = sum += x[i];
}
