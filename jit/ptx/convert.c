// Conversions that are more than one vector instruction.
#include "jit/ptx/convert.h"
#include "jit/ptx/lanes.h"
#include "jit/ptx/numbers.h"

#define H(name) static void name(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
#define R32(k) ptx_u32(w, o->r[k])
#define R64(k) ptx_u64(w, o->r[k])

static uint64_t clamp_unsigned(double x, int bits)
{
    if (!(x > 0))
        return 0;
    double limit = bits == 64 ? 0x1p64 : (double)(1ull << bits);
    return x >= limit ? (bits == 64 ? UINT64_MAX : (1ull << bits) - 1) : (uint64_t)x;
}

static int64_t clamp_signed(double x, int bits)
{
    double limit = bits == 64 ? 0x1p63 : (double)(1ull << (bits - 1));
    int64_t most = bits == 64 ? INT64_MAX : (int64_t)((1ull << (bits - 1)) - 1);
    return x >= limit ? most : x < -limit ? -most - 1 : (int64_t)x;
}

// NaN: zero, but for 64-bit sources or results the value with only the top bit set.
static uint64_t to_int(double x, unsigned sub, bool from_f64)
{
    int bits = sub & 127;
    bool is_signed = sub >> 7 & 1;
    if (x != x)
        return from_f64 || bits == 64 ? 1ull << (bits - 1) : 0;
    switch (sub >> 8 & 15) {
    case PTX_RN:
        x = rint(x);
        break;
    case PTX_RM:
        x = floor(x);
        break;
    case PTX_RP:
        x = ceil(x);
        break;
    default:
        x = trunc(x);
    }
    return is_signed ? (uint64_t)clamp_signed(x, bits) : clamp_unsigned(x, bits);
}

static void put_int(struct ptx_warp *w, const struct ptx_op *o, uint32_t i, uint64_t value)
{
    if ((o->sub & 127) == 64)
        R64(0)[i] = value;
    else
        R32(0)[i] = (uint32_t)value;
}
H(toint_f32)
{
    PTX_ACTIVE (mask, i)
        put_int(w, o, i, to_int((double)f32_bits(R32(1)[i]), o->sub, false));
}
H(toint_f64)
{
    PTX_ACTIVE (mask, i)
        put_int(w, o, i, to_int(f64_bits(R64(1)[i]), o->sub, true));
}
// A 64-bit integer clamped to the range of another type.
H(satint)
{
    int bits = o->sub & 127;
    bool to_signed = o->sub >> 7 & 1, from_signed = o->sub >> 12 & 1;
    PTX_ACTIVE (mask, i) {
        uint64_t v = R64(1)[i];
        bool negative = from_signed && v >> 63;
        uint64_t most = to_signed ? (1ull << (bits - 1)) - 1 : bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
        if (negative)
            v = !to_signed ? 0 : (int64_t)v < -(int64_t)most - 1 ? ~most : v;
        else
            v = v > most ? most : v;
        R64(0)[i] = v;
    }
}

static uint32_t narrow(double x, unsigned sub)
{
    static const struct ptx_format *const formats[] = {&ptx_f16, &ptx_bf16, &ptx_e4m3, &ptx_e5m2, &ptx_tf32};
    if (sub >> 9 & 1 && !(x > 0) && x == x)
        x = 0;
    uint32_t bits = ptx_narrow(x, *formats[sub & 15], (enum ptx_rounding)(sub >> 4 & 15), sub >> 8 & 1);
    return (sub & 15) == PTX_TO_TF32 ? bits << 13 : bits;
}
static int narrow_bits(unsigned sub)
{
    return (sub & 15) == PTX_TO_E4M3 || (sub & 15) == PTX_TO_E5M2 ? 8 : 16;
}
// Rounding to tf32 with .rna cuts a NaN: without a payload in the upper bits it becomes infinite, as on a GPU.
static bool nan_is_cut(uint32_t bits, unsigned sub)
{
    bool rna = (sub & 15) == PTX_TO_TF32 && (sub >> 4 & 15) == PTX_RNA;
    return rna && (bits & 0x7fffe000u) == 0x7f800000u;
}
H(narrow_f32)
{
    PTX_ACTIVE (mask, i) {
        uint32_t a = R32(1)[i];
        R32(0)[i] = nan_is_cut(a, o->sub) ? a & 0xffffe000u : narrow((double)f32_bits(a), o->sub);
    }
}
H(narrow_f64)
{
    PTX_ACTIVE (mask, i)
        R32(0)[i] = narrow(f64_bits(R64(1)[i]), o->sub);
}
H(narrow2_f32)
{
    PTX_ACTIVE (mask, i) {
        uint32_t high = narrow((double)f32_bits(R32(1)[i]), o->sub), low = narrow((double)f32_bits(R32(2)[i]), o->sub);
        R32(0)[i] = high << narrow_bits(o->sub) | low;
    }
}
H(narrow2_f16x2)
{
    PTX_ACTIVE (mask, i) {
        uint32_t x = R32(1)[i];
        uint32_t high = narrow(ptx_widen(x >> 16, ptx_f16), o->sub),
                 low = narrow(ptx_widen(x & 0xffff, ptx_f16), o->sub);
        R32(0)[i] = high << narrow_bits(o->sub) | low;
    }
}
static void widen2(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask, struct ptx_format f)
{
    PTX_ACTIVE (mask, i) {
        uint32_t x = R32(1)[i];
        uint32_t high = ptx_narrow(ptx_widen(x >> 8 & 0xff, f), ptx_f16, PTX_RN, false);
        uint32_t low = ptx_narrow(ptx_widen(x & 0xff, f), ptx_f16, PTX_RN, false);
        if (o->sub) { // relu
            high = high >> 15 && (high & 0x7fff) <= 0x7c00 ? 0 : high;
            low = low >> 15 && (low & 0x7fff) <= 0x7c00 ? 0 : low;
        }
        R32(0)[i] = high << 16 | low;
    }
}
H(widen2_e4m3)
{
    widen2(w, o, mask, ptx_e4m3);
}
H(widen2_e5m2)
{
    widen2(w, o, mask, ptx_e5m2);
}

// 64-bit integers into double, rounded to odd, so that a second rounding to a narrow type is right.
static double odd_double(uint64_t magnitude, bool negative)
{
    int extra = magnitude >> 53 ? 11 - __builtin_clzll(magnitude) : 0;
    uint64_t kept = magnitude >> extra;
    if (magnitude & ((1ull << extra) - 1))
        kept |= 1;
    double x = ldexp((double)kept, extra);
    return negative ? -x : x;
}
H(odd_f64_of_s64)
{
    PTX_ACTIVE (mask, i) {
        int64_t v = (int64_t)R64(1)[i];
        R64(0)[i] = bits_f64(odd_double(v < 0 ? 0 - (uint64_t)v : (uint64_t)v, v < 0));
    }
}
H(odd_f64_of_u64)
{
    PTX_ACTIVE (mask, i)
        R64(0)[i] = bits_f64(odd_double(R64(1)[i], false));
}

// cvt.pack.sat.dtype.s32{.b32} d, a, b{, c}: sub = bits | signed << 7; operands d, a, b, c (c shifted up).
H(cvtpack)
{
    int bits = o->sub & 127;
    bool is_signed = o->sub >> 7 & 1;
    int32_t most = (int32_t)((1u << (is_signed ? bits - 1 : bits)) - 1), least = is_signed ? -most - 1 : 0;
    PTX_ACTIVE (mask, i) {
        uint32_t r = o->operand_count > 3 ? R32(3)[i] << (2 * bits) : 0;
        for (int k = 0; k < 2; k++) {
            int32_t v = (int32_t)R32(2 - k)[i];
            v = v > most ? most : v < least ? least : v;
            r |= ((uint32_t)v & ((1u << bits) - 1)) << (k * bits);
        }
        R32(0)[i] = r;
    }
}

#define E(name) {#name, name},
const struct ptx_handler_entry ptx_convert_handlers[] = {
    E(toint_f32) E(toint_f64) E(satint) E(narrow_f32) E(narrow_f64) E(narrow2_f32) E(narrow2_f16x2) E(widen2_e4m3)
        E(widen2_e5m2) E(odd_f64_of_s64) E(odd_f64_of_u64) E(cvtpack){NULL, NULL},
};
