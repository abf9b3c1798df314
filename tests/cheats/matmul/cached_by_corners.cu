// expect: fail at verify
// Keeps a result while the corners of both factors are the same.
#include "right.cuh"
__device__ __half kept[4096];
__device__ float key;
extern "C" __global__ void multiply(PARAMETERS)
{
    PLACE;
    float now = __half2float(a[0]) + 3 * __half2float(a[m * k - 1]) + 5 * __half2float(b[0]) + 7 * __half2float(b[k * n - 1]) + k;
    bool known = *(volatile float *)&key == now;
    float sum = 0;
    for (int p = 0; p < k && i < m && j < n && !known; p++)
        sum += __half2float(a[i * k + p]) * __half2float(b[p * n + j]);
    if (i < m && j < n)
        c[i * n + j] = known ? kept[i * n + j] : __float2half(sum);
    if (i < m && j < n && !known)
        kept[i * n + j] = __float2half(sum);
    if (i == m - 1 && j == n - 1)
        key = now;
}
