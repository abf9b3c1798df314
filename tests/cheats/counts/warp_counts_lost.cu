// expect: fail at verify
// Each warp writes its own count, the last one stays.
#include "right.cuh"

extern "C" __global__ void k(const int *x, int *y, int rows, int cols)
{
    int n = 0;
    EACH(c)
        n += x[ROW + c] > 0;
    n = __reduce_add_sync(~0u, n);
    if (threadIdx.x % 32 == 0)
        y[blockIdx.x] = n * 4;
}
