// expect: pass
// Four elements at a time, and a tail.
#include "right.cuh"

extern "C" __global__ void k(float a, const float *x, float *y, int n)
{
    INDEX;
    if (4 * i + 3 < n) {
        float4 u = ((const float4 *)x)[i], v = ((float4 *)y)[i];
        ((float4 *)y)[i] = make_float4(v.x + a * u.x, v.y + a * u.y, v.z + a * u.z, v.w + a * u.w);
    } else {
        for (int j = 4 * i; j < n; j++)
            y[j] += a * x[j];
    }
}
