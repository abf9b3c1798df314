// Softmax, step 2: one block a row.
//
// What changes: the 256 threads of a block share a row. Neighbouring threads read neighbouring elements, so a warp's
// load is 4 full sectors out of 4, and 4096 rows are a million threads. Maximum and sum are put together in shared
// memory, by halves.
// What is left: the row is still read three times. The second and third reading mostly come from the L2, but the row
// has to travel through it three times all the same.
#include <math_constants.h>

extern "C" __global__ void softmax_coalesced(const float *x, float *y, int rows, int cols)
{
    __shared__ float part[256];
    int row = blockIdx.x, me = threadIdx.x;
    if (row >= rows)
        return;
    const float *in = x + (size_t)row * cols;
    float *out = y + (size_t)row * cols;

    //kb: section maximum
    float most = -CUDART_INF_F;
    for (int c = me; c < cols; c += 256)
        most = fmaxf(most, in[c]);
    part[me] = most;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (me < half)
            part[me] = fmaxf(part[me], part[me + half]);
        __syncthreads();
    }
    most = part[0];
    __syncthreads(); // everybody has read part[0] before it is written again

    //kb: section sum
    float sum = 0;
    for (int c = me; c < cols; c += 256)
        sum += expf(in[c] - most);
    part[me] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (me < half)
            part[me] += part[me + half];
        __syncthreads();
    }
    sum = part[0];

    //kb: section write
    for (int c = me; c < cols; c += 256)
        out[c] = expf(in[c] - most) / sum;
}
