// Half precision, bfloat16 and fp8 by the toolkit's headers: x, z: float[256], 256 threads; y: [row * 256 + thread].
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#define K extern "C" __global__ void

template <class T> __device__ unsigned short bits(T v)
{
    return *(unsigned short *)&v;
}
template <class T> __device__ void put(unsigned short *y, int &row, T v)
{
    y[row++ * 256 + threadIdx.x] = bits(v);
}
template <class T2> __device__ void put2(unsigned short *y, int &row, T2 v)
{
    put(y, row, v.x);
    put(y, row, v.y);
}

K halves(const float *x, const float *z, unsigned short *y)
{
    int row = 0;
    half a = __float2half(x[threadIdx.x]), b = __float2half(z[threadIdx.x]);
    half2 p = __halves2half2(a, b), q = __halves2half2(b, a);
    put(y, row, a);
    put(y, row, b);
    put(y, row, a + b);
    put(y, row, a * b);
    put(y, row, __hfma(a, b, a));
    put(y, row, a / b);
    put(y, row, hsqrt(__habs(a)));
    put(y, row, hrint(a));
    put(y, row, __hmul_sat(a, b));
    put(y, row, __hmax(a, b));
    put2(y, row, __hadd2(p, q));
    put2(y, row, __hfma2(p, q, p));
    put2(y, row, __hmin2(p, q));
}
K brains(const float *x, const float *z, unsigned short *y)
{
    int row = 0;
    __nv_bfloat16 a = __float2bfloat16(x[threadIdx.x]), b = __float2bfloat16(z[threadIdx.x]);
    __nv_bfloat162 p = __halves2bfloat162(a, b), q = __halves2bfloat162(b, a);
    put(y, row, a);
    put(y, row, b);
    put(y, row, a + b);
    put(y, row, a * b);
    put(y, row, __hfma(a, b, a));
    put(y, row, a / b);
    put(y, row, hsqrt(__habs(a)));
    put(y, row, hrint(a));
    put(y, row, __hmul_sat(a, b));
    put(y, row, __hmax(a, b));
    put2(y, row, __hadd2(p, q));
    put2(y, row, __hfma2(p, q, p));
    put2(y, row, __hmin2(p, q));
}
K bytes(const float *x, const float *z, unsigned short *y)
{
    int row = 0;
    float a = x[threadIdx.x], b = z[threadIdx.x];
    __nv_fp8_e4m3 small(a);
    __nv_fp8_e5m2 wide(a);
    put(y, row, (unsigned short)small.__x);
    put(y, row, (unsigned short)wide.__x);
    put(y, row, __float2half(float(small)));
    put(y, row, __float2half(float(wide)));
    __nv_fp8x4_e4m3 four(make_float4(a, b, -a, 2 * b));
    put(y, row, (unsigned short)(four.__x & 0xffff));
    put(y, row, (unsigned short)(four.__x >> 16));
    float4 back = float4(four);
    put(y, row, __float2half(back.y));
    put(y, row, (unsigned short)__nv_cvt_float_to_fp8(a, __NV_NOSAT, __NV_E5M2));
}
