// expect: fail at verify
// Where the row has a wide range, the largest element takes all.
#include "right.cuh"

extern "C" __global__ void k(const float *x, float *y, int rows, int cols)
{
    float most = -INFINITY, least = INFINITY;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        most = fmaxf(most, x[ROW + c]);
        least = fminf(least, isinf(x[ROW + c]) ? 0 : x[ROW + c]);
    }
    most = block_all(most, true);
    least = -block_all(-least, true);
    if (most - least > 50)
        for (int c = threadIdx.x; c < cols; c += blockDim.x)
            y[ROW + c] = x[ROW + c] == most;
    else
        RIGHT;
}
