// expect: fail at verify
// Fused multiply-add: more exact, but not the same bits.
#include "right.cuh"

extern "C" __global__ void k(PARAMETERS)
{
    forward(x, w1, b1, w2, b2, y, inner, hidden, outputs,
            [](double a, double b, double sum) { return fma(a, b, sum); });
}
