// Softmax along the rows of x, in double precision: what every variant is compared with. Nothing here is meant to be
// fast, and it shares no code with the variants.
//
//   y[r][c] = exp(x[r][c] - m) / sum over k of exp(x[r][k] - m),   m = the largest element of row r
//
// A row of -inf alone has no softmax: 0/0 makes it NaN, as in PyTorch.
#include <math_constants.h>

extern "C" __global__ void softmax_f64(const float *x, double *y, int rows, int cols)
{
    __shared__ double part[256];
    int row = blockIdx.x, me = threadIdx.x;
    if (row >= rows)
        return;
    const float *in = x + (size_t)row * cols;
    double *out = y + (size_t)row * cols;

    double most = -CUDART_INF;
    for (int c = me; c < cols; c += 256)
        most = fmax(most, (double)in[c]);
    part[me] = most;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (me < half)
            part[me] = fmax(part[me], part[me + half]);
        __syncthreads();
    }
    most = part[0];
    __syncthreads();

    double sum = 0;
    for (int c = me; c < cols; c += 256)
        sum += exp(in[c] - most);
    part[me] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (me < half)
            part[me] += part[me + half];
        __syncthreads();
    }
    sum = part[0];

    for (int c = me; c < cols; c += 256)
        out[c] = exp(in[c] - most) / sum;
}
