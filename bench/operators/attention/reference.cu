// In double, slow and exact: what the variants are compared with.
// One block a position: its threads share the scores for the largest and the sum, and have one column of v each.
#include <math_constants.h>

static __device__ double score(const float *q, const float *k, int d)
{
    double sum = 0;
    for (int i = 0; i < d; i++)
        sum += (double)q[i] * k[i];
    return sum / sqrt((double)d);
}

extern "C" __global__ void attention_reference(const float *q, const float *k, const float *v, double *y, int t, int d)
{
    __shared__ double weights[128], most[128];
    int me = threadIdx.x, i = blockIdx.x;
    size_t head = (size_t)blockIdx.y * t * d;
    const float *mine = q + head + (size_t)i * d;
    most[me] = -CUDART_INF;
    for (int j = me; j <= i; j += 128)
        most[me] = fmax(most[me], score(mine, k + head + (size_t)j * d, d));
    __syncthreads();
    double largest = most[0], total = 0, sum = 0;
    for (int j = 1; j < 128; j++)
        largest = fmax(largest, most[j]);
    for (int first = 0; first <= i; first += 128) {
        int j = first + me;
        weights[me] = j <= i ? exp(score(mine, k + head + (size_t)j * d, d) - largest) : 0;
        __syncthreads();
        for (int w = 0; w < 128 && first + w <= i; w++) {
            total += weights[w];
            sum += me < d ? weights[w] * v[head + (size_t)(first + w) * d + me] : 0;
        }
        __syncthreads();
    }
    if (me < d)
        y[head + (size_t)i * d + me] = sum / total;
}
