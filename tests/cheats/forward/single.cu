// expect: fail at verify
// Adds up in single precision.
#include "right.cuh"

extern "C" __global__ void k(PARAMETERS)
{
    forward(x, w1, b1, w2, b2, y, inner, hidden, outputs,
            [](double a, double b, double sum) { return (double)((float)sum + (float)a * (float)b); });
}
