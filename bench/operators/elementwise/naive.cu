// One thread an element, four bytes a load. To try: float4 loads, several elements a thread (with a grid-stride
// loop), other block sizes. A launch can stand here too, as a line of its own, and then wins over bench.json:
// `//kb: block=512 grid=ceil_div(n,512)`.
extern "C" __global__ void axpy_naive(float *out, const float *x, const float *y, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
