// expect: pass
// variant: {"kernel": "mine::k"}
// A kernel inside a namespace.
#include "right.cuh"

namespace mine {
__global__ void k(const float *x, float *y, int rows, int cols)
{
    RIGHT;
}
} // namespace mine
