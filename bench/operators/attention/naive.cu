// One thread a position, the row of the result in registers, one pass (online softmax). To try: one warp a position,
// tiles of k and v in shared memory, float4, then tensor cores.
extern "C" __global__ void attention_naive(const float *q, const float *k, const float *v, float *y, int t, int d)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= t)
        return;
    size_t head = (size_t)blockIdx.y * t * d;
    const float *mine = q + head + (size_t)i * d;
    float out[128], most = -3.0e38f, total = 0, scale = rsqrtf((float)d);
    for (int c = 0; c < d; c++)
        out[c] = 0;
    for (int j = 0; j <= i; j++) {
        float score = 0;
        for (int c = 0; c < d; c++)
            score += mine[c] * k[head + (size_t)j * d + c];
        score *= scale;
        float now = fmaxf(most, score), old = expf(most - now), weight = expf(score - now);
        most = now;
        total = total * old + weight;
        for (int c = 0; c < d; c++)
            out[c] = out[c] * old + weight * v[head + (size_t)j * d + c];
    }
    for (int c = 0; c < d; c++)
        y[head + (size_t)i * d + c] = out[c] / total;
}
