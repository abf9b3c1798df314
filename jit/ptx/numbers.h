// Number formats and rounding: what PTX defines bit by bit, as scalar functions. Inline, so that loops over lanes can
// be vectorised for each instruction set.
#ifndef KB_JIT_PTX_NUMBERS_H
#define KB_JIT_PTX_NUMBERS_H
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PTX_INLINE static inline __attribute__((always_inline, unused))

enum ptx_rounding { PTX_RN, PTX_RZ, PTX_RM, PTX_RP, PTX_RNA };

PTX_INLINE uint32_t bits_f32(float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    return u;
}
PTX_INLINE float f32_bits(uint32_t u)
{
    float x;
    memcpy(&x, &u, 4);
    return x;
}
PTX_INLINE uint64_t bits_f64(double x)
{
    uint64_t u;
    memcpy(&u, &x, 8);
    return u;
}
PTX_INLINE double f64_bits(uint64_t u)
{
    double x;
    memcpy(&x, &u, 8);
    return x;
}

// Single precision results that are NaN have the canonical payload (PTX ISA, "Floating-Point Instructions").
PTX_INLINE float canon(float x)
{
    return x == x ? x : f32_bits(0x7fffffffu);
}
PTX_INLINE float flush(float x)
{
    uint32_t u = bits_f32(x);
    return f32_bits((u & 0x7f800000u) ? u : u & 0x80000000u);
}

// The result r of an operation with .ftz, where `scaled` is the result of the same operation 2^64 times larger, rounded
// alike. GPUs flush what is less than the least normal number after rounding as if exponents had no lower end: of the
// results that rounding among the subnormals makes the least normal number, some are flushed.
PTX_INLINE float flush_tiny(float r, float scaled)
{
    uint32_t u = bits_f32(r);
    bool small = (u & 0x7fffffffu) <= 0x00800000u; // elsewhere `scaled` may have overflowed
    return f32_bits(small & (fabsf(scaled) < 0x1p-62f) ? u & 0x80000000u : u);
}

// 2^x. Error below 1e-10 relative before rounding, so practically the correctly rounded single.
PTX_INLINE float approx_ex2(float x)
{
    double t = (double)x;
    t = t > 200.0 ? 200.0 : t;
    t = t < -200.0 ? -200.0 : t;
    double shifted = t + 0x1.8p52;
    double f = (t - (shifted - 0x1.8p52)) * 0.693147180559945309417;
    double p = 1.0 / 39916800;
    p = p * f + 1.0 / 3628800;
    p = p * f + 1.0 / 362880;
    p = p * f + 1.0 / 40320;
    p = p * f + 1.0 / 5040;
    p = p * f + 1.0 / 720;
    p = p * f + 1.0 / 120;
    p = p * f + 1.0 / 24;
    p = p * f + 1.0 / 6;
    p = p * f + 0.5;
    p = p * f + 1.0;
    p = p * f + 1.0;
    // The low bits of `shifted` hold the whole part; moved up, they are the exponent of the scale.
    double scale = f64_bits((bits_f64(shifted) + 1023) << 52);
    return canon((float)(p * scale));
}

// log2(x), error below 1e-13 relative away from 1 and absolute near it before rounding.
PTX_INLINE float approx_lg2(float x)
{
    double d = (double)x;
    uint64_t u = bits_f64(d);
    int64_t e = (int64_t)((u >> 52) & 0x7ff) - 1023;
    double m = f64_bits((u & 0xfffffffffffffull) | 0x3ff0000000000000ull);
    int big = m > 1.4142135623730951;
    m = big ? m * 0.5 : m;
    double n = (double)(int32_t)e + (double)big;
    double s = (m - 1.0) / (m + 1.0), z = s * s;
    double p = 1.0 / 19;
    p = p * z + 1.0 / 17;
    p = p * z + 1.0 / 15;
    p = p * z + 1.0 / 13;
    p = p * z + 1.0 / 11;
    p = p * z + 1.0 / 9;
    p = p * z + 1.0 / 7;
    p = p * z + 1.0 / 5;
    p = p * z + 1.0 / 3;
    p = p * z + 1.0;
    float r = (float)(n + 2.0 * 1.4426950408889634074 * s * p);
    r = x == 0.0f ? -INFINITY : r;
    r = x < 0.0f ? f32_bits(0x7fffffffu) : r;
    r = x == INFINITY ? INFINITY : r;
    return x == x ? r : f32_bits(0x7fffffffu);
}

// min and max: a NaN loses against a number; -0 is less than +0.
PTX_INLINE float min_f32(float a, float b)
{
    float r = a < b ? a : b;
    r = a == b ? f32_bits(bits_f32(a) | bits_f32(b)) : r;
    r = a != a ? b : r;
    r = b != b ? a : r;
    return canon(r);
}
PTX_INLINE float max_f32(float a, float b)
{
    float r = a > b ? a : b;
    r = a == b ? f32_bits(bits_f32(a) & bits_f32(b)) : r;
    r = a != a ? b : r;
    r = b != b ? a : r;
    return canon(r);
}
PTX_INLINE double min_f64(double a, double b)
{
    double r = a < b ? a : b;
    r = a == b ? f64_bits(bits_f64(a) | bits_f64(b)) : r;
    r = a != a ? b : r;
    return b != b ? a : r;
}
PTX_INLINE double max_f64(double a, double b)
{
    double r = a > b ? a : b;
    r = a == b ? f64_bits(bits_f64(a) & bits_f64(b)) : r;
    r = a != a ? b : r;
    return b != b ? a : r;
}
PTX_INLINE float nan_if(float r, float a, float b)
{
    return a != a || b != b ? f32_bits(0x7fffffffu) : r;
}

// A narrow binary format: `fraction` stored bits, `bias`, and whether it has infinities.
struct ptx_format {
    int fraction, bias, exponent_bits;
    bool infinities; // e4m3 has none: all ones is NaN, the largest finite value is 448
};
static const struct ptx_format ptx_f16 = {10, 15, 5, true}, ptx_bf16 = {7, 127, 8, true}, ptx_e4m3 = {3, 7, 4, false},
                               ptx_e5m2 = {2, 15, 5, true}, ptx_tf32 = {10, 127, 8, true};

// value / 2^shift as a whole number, rounded; negative tells the sign for the directed modes.
PTX_INLINE uint64_t ptx_round_shift(uint64_t value, int shift, bool negative, enum ptx_rounding mode)
{
    if (shift <= 0)
        return value << (-shift > 63 ? 63 : -shift);
    uint64_t whole = shift > 63 ? 0 : value >> shift;
    uint64_t half = shift > 64 ? 0 : 1ull << (shift - 1);
    uint64_t rest = shift > 63 ? value : value & ((1ull << shift) - 1);
    bool up = false;
    switch (mode) {
    case PTX_RN:
        up = half && (rest > half || (rest == half && whole & 1));
        break;
    case PTX_RNA:
        up = half && rest >= half;
        break;
    case PTX_RM:
        up = negative && rest;
        break;
    case PTX_RP:
        up = !negative && rest;
        break;
    case PTX_RZ:
        break;
    }
    return whole + up;
}

// x rounded into the format. satfinite: beyond the range becomes the largest finite value.
PTX_INLINE uint32_t ptx_narrow(double x, struct ptx_format f, enum ptx_rounding mode, bool satfinite)
{
    uint64_t u = bits_f64(x);
    uint32_t exponents = (1u << f.exponent_bits) - 1;
    uint32_t sign = (uint32_t)(u >> 63) << (f.fraction + f.exponent_bits);
    uint32_t infinity = exponents << f.fraction;
    uint32_t largest = f.infinities ? infinity - 1 : infinity | ((1u << f.fraction) - 2);
    if (x != x)
        return f.infinities ? infinity | ((1u << f.fraction) - 1) : infinity | ((1u << f.fraction) - 1);
    bool negative = u >> 63;
    int exponent = (int)(u >> 52 & 0x7ff);
    if (exponent == 0x7ff)
        return sign | (satfinite || !f.infinities ? largest : infinity);
    if (!exponent)
        exponent = 1;
    uint64_t mantissa = (u & 0xfffffffffffffull) | (u >> 52 & 0x7ff ? 1ull << 52 : 0);
    int target = exponent - 1023 + f.bias; // biased exponent in the format
    int shift = 52 - f.fraction + (target < 1 ? 1 - target : 0);
    uint64_t rounded = ptx_round_shift(mantissa, shift, negative, mode);
    uint64_t bits = target < 1 ? rounded : rounded + ((uint64_t)(target - 1) << f.fraction);
    if (bits > largest) {
        bool to_largest = satfinite || !f.infinities || mode == PTX_RZ || (mode == PTX_RM && !negative) ||
                          (mode == PTX_RP && negative);
        bits = to_largest ? largest : infinity;
    }
    return sign | (uint32_t)bits;
}

PTX_INLINE double ptx_widen(uint32_t bits, struct ptx_format f)
{
    uint32_t fraction = bits & ((1u << f.fraction) - 1);
    uint32_t exponents = (1u << f.exponent_bits) - 1;
    uint32_t exponent = bits >> f.fraction & exponents;
    bool negative = bits >> (f.fraction + f.exponent_bits) & 1;
    double x;
    if (f.infinities && exponent == exponents)
        x = fraction ? NAN : INFINITY;
    else if (!f.infinities && exponent == exponents && fraction == (1u << f.fraction) - 1)
        x = NAN;
    else if (exponent)
        x = f64_bits((uint64_t)(exponent + 1023 - (uint32_t)f.bias) << 52 | (uint64_t)fraction << (52 - f.fraction));
    else
        x = (double)fraction * f64_bits((uint64_t)(1023 - f.bias + 1 - f.fraction) << 52);
    return negative ? -x : x;
}

PTX_INLINE float f16_to_f32(uint32_t h)
{
    uint32_t magnitude = (h & 0x7fff) << 13;
    // Scaling by 2^112 also makes subnormals right.
    float x = f32_bits(magnitude) * 0x1p112f;
    uint32_t u = bits_f32(x);
    u = magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : u;
    return f32_bits(u | (h & 0x8000) << 16);
}
PTX_INLINE uint32_t f32_to_f16(float x)
{
    uint32_t u = bits_f32(x), sign = u >> 16 & 0x8000, a = u & 0x7fffffffu;
    // Subnormal: the addition of 0.5 leaves the rounded multiple of 2^-24 in the low bits.
    uint32_t small = bits_f32(f32_bits(a < 0x38800000u ? a : 0) + 0.5f) - 0x3f000000u;
    uint32_t normal = (a + 0xc8000fffu + (a >> 13 & 1)) >> 13;
    uint32_t r = a < 0x38800000u ? small : normal;
    r = a >= 0x477ff000u ? 0x7c00 : r;
    r = a > 0x7f800000u ? 0x7fff : r | sign;
    return r;
}
PTX_INLINE float bf16_to_f32(uint32_t h)
{
    return f32_bits(h << 16);
}
PTX_INLINE uint32_t f32_to_bf16(float x)
{
    uint32_t u = bits_f32(x);
    return x == x ? (u + 0x7fff + (u >> 16 & 1)) >> 16 : 0x7fff;
}

// a + b rounded to odd: a later rounding to fewer than 52 bits then gives what one rounding of the exact sum gives.
PTX_INLINE double add_odd(double a, double b)
{
    double s = a + b, t = s - a;
    double error = (a - (s - t)) + (b - t);
    uint64_t u = bits_f64(s);
    if (error != 0 && error == error && (u & 0x7ff0000000000000ull) != 0x7ff0000000000000ull && !(u & 1))
        u += (error > 0) == !(u >> 63) ? 1 : (uint64_t)-1;
    return f64_bits(u);
}

// The same in single precision.
PTX_INLINE float add_odd_f32(float a, float b)
{
    float s = a + b, t = s - a;
    float error = (a - (s - t)) + (b - t);
    uint32_t u = bits_f32(s);
    bool inexact = error != 0 && error == error && (u & 0x7f800000u) != 0x7f800000u && !(u & 1);
    uint32_t step = (error > 0) == !(u >> 31) ? 1u : 0xffffffffu;
    return f32_bits(inexact ? u + step : u);
}
// A double rounded to odd in single precision.
PTX_INLINE float odd_f32(double x)
{
    float f = (float)x;
    double back = (double)f;
    uint32_t u = bits_f32(f);
    u = fabs(back) > fabs(x) ? u - 1 : u;
    return f32_bits(back != x && x == x ? u | 1 : u);
}

// Half-precision arithmetic. Products of f16 are exact in single precision, those of bf16 in double; sums are rounded
// to odd there, so that the last step rounds the exact result.
PTX_INLINE uint32_t f16_add(uint32_t a, uint32_t b)
{
    return f32_to_f16(f16_to_f32(a) + f16_to_f32(b));
}
PTX_INLINE uint32_t f16_mul(uint32_t a, uint32_t b)
{
    return f32_to_f16(f16_to_f32(a) * f16_to_f32(b));
}
PTX_INLINE uint32_t f16_fma(uint32_t a, uint32_t b, uint32_t c)
{
    return f32_to_f16(add_odd_f32(f16_to_f32(a) * f16_to_f32(b), f16_to_f32(c)));
}
// With .ftz: results are flushed as flush_tiny does; from 2^-14 (1 - 2^-12) on they are rounded to 2^-14.
PTX_INLINE uint32_t f16_flush(uint32_t a)
{
    return a & 0x7c00 ? a : a & 0x8000;
}
PTX_INLINE uint32_t f16_flush_tiny(float exact)
{
    return fabsf(exact) < 0x1.ffep-15f ? bits_f32(exact) >> 16 & 0x8000 : f32_to_f16(exact);
}
PTX_INLINE uint32_t f16_mul_ftz(uint32_t a, uint32_t b)
{
    return f16_flush_tiny(f16_to_f32(f16_flush(a)) * f16_to_f32(f16_flush(b)));
}
PTX_INLINE uint32_t f16_fma_ftz(uint32_t a, uint32_t b, uint32_t c)
{
    float product = f16_to_f32(f16_flush(a)) * f16_to_f32(f16_flush(b));
    return f16_flush_tiny(add_odd_f32(product, f16_to_f32(f16_flush(c))));
}
PTX_INLINE uint32_t f16_min(uint32_t a, uint32_t b)
{
    return f32_to_f16(min_f32(f16_to_f32(a), f16_to_f32(b)));
}
PTX_INLINE uint32_t f16_max(uint32_t a, uint32_t b)
{
    return f32_to_f16(max_f32(f16_to_f32(a), f16_to_f32(b)));
}
PTX_INLINE uint32_t bf16_add(uint32_t a, uint32_t b)
{
    return f32_to_bf16(add_odd_f32(bf16_to_f32(a), bf16_to_f32(b)));
}
PTX_INLINE uint32_t bf16_mul(uint32_t a, uint32_t b)
{
    return f32_to_bf16(odd_f32((double)bf16_to_f32(a) * (double)bf16_to_f32(b)));
}
PTX_INLINE uint32_t bf16_fma(uint32_t a, uint32_t b, uint32_t c)
{
    return f32_to_bf16(odd_f32(add_odd((double)bf16_to_f32(a) * (double)bf16_to_f32(b), (double)bf16_to_f32(c))));
}
PTX_INLINE uint32_t bf16_min(uint32_t a, uint32_t b)
{
    return f32_to_bf16(min_f32(bf16_to_f32(a), bf16_to_f32(b)));
}
PTX_INLINE uint32_t bf16_max(uint32_t a, uint32_t b)
{
    return f32_to_bf16(max_f32(bf16_to_f32(a), bf16_to_f32(b)));
}
#define PTX_PAIR2(f, a, b) (f((a) >> 16, (b) >> 16) << 16 | f((a)&0xffff, (b)&0xffff))
#define PTX_PAIR3(f, a, b, c) (f((a) >> 16, (b) >> 16, (c) >> 16) << 16 | f((a)&0xffff, (b)&0xffff, (c)&0xffff))

#endif
