// One thread an output; every block computes the hidden layer of its own row.
#pragma once

template <typename Step>
__device__ void forward(const double *x, const double *w1, const double *b1, const double *w2, const double *b2,
                        double *y, int inner, int hidden, int outputs, Step step)
{
    __shared__ double middle[64];
    int row = blockIdx.x, me = threadIdx.x;
    if (me < hidden) {
        double sum = b1[me];
        for (int k = 0; k < inner; k++)
            sum = step(x[row * inner + k], w1[k * hidden + me], sum);
        middle[me] = sum > 0 ? sum : 0;
    }
    __syncthreads();
    if (me < outputs) {
        double sum = b2[me];
        for (int k = 0; k < hidden; k++)
            sum = step(middle[k], w2[k * outputs + me], sum);
        y[row * outputs + me] = sum;
    }
}

#define PARAMETERS                                                                                                     \
    const double *x, const double *w1, const double *b1, const double *w2, const double *b2, double *y, int inner,     \
        int hidden, int outputs
