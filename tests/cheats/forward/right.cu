// expect: pass
// The same operations in the same order as NumPy's: the same bits.
#include "right.cuh"

extern "C" __global__ void k(PARAMETERS)
{
    forward(x, w1, b1, w2, b2, y, inner, hidden, outputs,
            [](double a, double b, double sum) { return __dadd_rn(sum, __dmul_rn(a, b)); });
}
