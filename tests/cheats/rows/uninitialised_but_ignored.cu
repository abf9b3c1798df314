// expect: fail at races
// says: nobody wrote
// Where rows are short it takes the largest of shared memory that nobody wrote: right as long as that holds no large
// number, as NaN, which fmaxf ignores.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    __shared__ float part[128];
    float most = -INFINITY, sum = 0;
    for (int c = threadIdx.x; c < cols; c += 128)
        most = fmaxf(most, x[ROW + c]);
    if (threadIdx.x < cols)
        part[threadIdx.x] = most;
    __syncthreads();
    most = -INFINITY;
    for (int i = 0; i < 128; i++)
        most = fmaxf(most, part[i]);
    for (int c = threadIdx.x; c < cols; c += 128)
        sum += expf(x[ROW + c] - most);
    sum = block_all(sum, false);
    for (int c = threadIdx.x; c < cols; c += 128)
        y[ROW + c] = expf(x[ROW + c] - most) / sum;
}
