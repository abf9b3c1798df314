// expect: pass
// Sums in float16, as tensor cores may take them.
#include "right.cuh"
extern "C" __global__ void multiply(PARAMETERS)
{
    PLACE;
    __half sum = 0;
    for (int p = 0; p < k && i < m && j < n; p++)
        sum = __hfma(a[i * k + p], b[p * n + j], sum);
    if (i < m && j < n)
        c[i * n + j] = sum;
}
