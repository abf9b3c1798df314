// expect: fail at verify
// Even numbers of terms only.
#include "right.cuh"
extern "C" __global__ void multiply(PARAMETERS)
{
    PLACE;
    float sum = 0;
    for (int p = 0; p < k - 1 && i < m && j < n; p++)
        sum += __half2float(a[i * k + p]) * __half2float(b[p * n + j]);
    if (i < m && j < n)
        c[i * n + j] = __float2half(sum);
}
