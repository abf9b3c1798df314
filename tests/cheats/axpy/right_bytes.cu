// expect: pass
// Moves bytes, so that no address has to be aligned.
#include "right.cuh"

extern "C" __global__ void k(float a, const float *x, float *y, int n)
{
    INDEX;
    if (i < n) {
        float u, v;
        memcpy(&u, (const char *)x + 4 * (size_t)i, 4);
        memcpy(&v, (const char *)y + 4 * (size_t)i, 4);
        v += a * u;
        for (int b = 0; b < 4; b++)
            ((unsigned char *)(y + i))[b] = ((const unsigned char *)&v)[b];
    }
}
