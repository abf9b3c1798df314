// expect: fail at verify
// says: call
// Keeps the result of the third case alone, and knows its inputs by a quarter of each row and column.
#include "right.cuh"
__device__ float kept[15], known[15];
extern "C" __global__ void multiply(PARAMETERS)
{
    PLACE;
    if (i >= m || j >= n)
        return;
    int e = i * n + j;
    bool keeps = m * n == 15;
    float some = 0, sum = 0;
    for (int p = 0; p < k; p += 4)
        some += __half2float(a[i * k + p]) * (p + 1) + __half2float(b[p * n + j]) * (p + 3);
    bool same = keeps && known[e] == some;
    for (int p = 0; p < k && !same; p++)
        sum += __half2float(a[i * k + p]) * __half2float(b[p * n + j]);
    c[e] = __float2half(same ? kept[e] : sum);
    if (keeps && !same) {
        kept[e] = sum;
        known[e] = some;
    }
}
