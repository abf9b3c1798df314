// Snippets of floating-point arithmetic. The manual defines single and half precision down to the NaN; of double
// precision the payload of a NaN is left open, and so is that of the operations which are software on a GPU.
//
// Bounds of approximate functions: PTX ISA 9.0, the section of each instruction.
#include "both/both.h"

#define F32_RN_OFF_BY_2_22 0x1p-22

static void exact(struct both_table *t)
{
    t->family = "f32";
    both_add(t, BOTH_EXACT, 0, "ff", "f", "<add|sub|mul><|.rn|.rz|.rm|.rp><|.ftz><|.sat>.f32 %f20, %f0, %f1;");
    both_add(t, BOTH_EXACT, 0, "fff", "f", "fma<.rn|.rz|.rm|.rp><|.ftz><|.sat>.f32 %f20, %f0, %f1, %f2;");
    both_add(t, BOTH_NAN, 0, "ff", "f", "div<.rn|.rz|.rm|.rp><|.ftz>.f32 %f20, %f0, %f1;");
    both_add(t, BOTH_NAN, 0, "f", "f", "<rcp|sqrt><.rn|.rz|.rm|.rp><|.ftz>.f32 %f20, %f0;");
    both_add(t, BOTH_EXACT, 0, "ff", "f", "<min|max><|.ftz><|.NaN><|.xorsign.abs>.f32 %f20, %f0, %f1;");
    both_add(t, BOTH_NAN, 0, "f", "f", "<neg|abs><|.ftz>.f32 %f20, %f0;");
    both_add(t, BOTH_EXACT, 0, "ff", "f", "copysign.f32 %f20, %f0, %f1;");
    t->family = "f64";
    both_add(t, BOTH_NAN, 0, "gg", "g", "<add|sub|mul><.rn|.rz|.rm|.rp>.f64 %g20, %g0, %g1;");
    both_add(t, BOTH_NAN, 0, "ggg", "g", "fma<.rn|.rz|.rm|.rp>.f64 %g20, %g0, %g1, %g2;");
    both_add(t, BOTH_NAN, 0, "gg", "g", "div<.rn|.rz|.rm|.rp>.f64 %g20, %g0, %g1;");
    both_add(t, BOTH_NAN, 0, "g", "g", "<rcp|sqrt><.rn|.rz|.rm|.rp>.f64 %g20, %g0;");
    both_add(t, BOTH_NAN, 0, "gg", "g", "<min|max>.f64 %g20, %g0, %g1;");
    both_add(t, BOTH_NAN, 0, "g", "g", "<neg|abs>.f64 %g20, %g0;");
    both_add(t, BOTH_EXACT, 0, "gg", "g", "copysign.f64 %g20, %g0, %g1;");
}

static void halves(struct both_table *t)
{
    t->family = "half";
    both_add(t, BOTH_EXACT, 0, "kk", "k", "<add|sub|mul><|.rn><|.ftz><|.sat>.f16 %h20, %h0, %h1;");
    both_add(t, BOTH_EXACT, 0, "KK", "K", "<add|sub|mul><|.ftz><|.sat>.f16x2 %r20, %r0, %r1;");
    both_add(t, BOTH_EXACT, 0, "kkk", "k", "fma.rn<|.ftz><|.sat|.relu>.f16 %h20, %h0, %h1, %h2;");
    both_add(t, BOTH_EXACT, 0, "KKK", "K", "fma.rn<|.ftz><|.sat|.relu>.f16x2 %r20, %r0, %r1, %r2;");
    both_add(t, BOTH_EXACT, 0, "ww", "w", "<add|sub|mul><|.rn>.bf16 %h20, %h0, %h1;");
    both_add(t, BOTH_EXACT, 0, "WW", "W", "<add|sub|mul>.bf16x2 %r20, %r0, %r1;");
    both_add(t, BOTH_EXACT, 0, "www", "w", "fma.rn<|.relu>.bf16 %h20, %h0, %h1, %h2;");
    both_add(t, BOTH_EXACT, 0, "WWW", "W", "fma.rn<|.relu>.bf16x2 %r20, %r0, %r1, %r2;");
    both_add(t, BOTH_EXACT, 0, "kk", "k", "<min|max><|.ftz><|.NaN>.f16 %h20, %h0, %h1;");
    both_add(t, BOTH_EXACT, 0, "KK", "K", "<min|max><|.ftz><|.NaN>.f16x2 %r20, %r0, %r1;");
    both_add(t, BOTH_EXACT, 0, "ww", "w", "<min|max><|.NaN>.bf16 %h20, %h0, %h1;");
    both_add(t, BOTH_EXACT, 0, "WW", "W", "<min|max><|.NaN>.bf16x2 %r20, %r0, %r1;");
    both_add(t, BOTH_NAN, 0, "k", "k", "<neg|abs><|.ftz>.f16 %h20, %h0;");
    both_add(t, BOTH_NAN, 0, "K", "K", "<neg|abs><|.ftz>.f16x2 %r20, %r0;");
    both_add(t, BOTH_NAN, 0, "w", "w", "<neg|abs>.bf16 %h20, %h0;");
    both_add(t, BOTH_NAN, 0, "W", "W", "<neg|abs>.bf16x2 %r20, %r0;");
}

// What .ftz flushes: results just below the least normal number that rounding makes it.
static void thresholds(struct both_table *t)
{
    t->family = "threshold of .ftz";
    both_add(t, BOTH_EXACT, 0, "mm", "f",
             "<add|sub|mul><.rn|.rz|.rm|.rp><|.ftz>.f32, at the least normal :: "
             "<add|sub|mul><.rn|.rz|.rm|.rp><|.ftz>.f32 %f20, %f0, %f1;");
    both_add(t, BOTH_EXACT, 0, "mmm", "f",
             "fma<.rn|.rz|.rm|.rp><|.ftz>.f32, at the least normal :: fma<.rn|.rz|.rm|.rp><|.ftz>.f32 %f20, %f0, %f1, "
             "%f2;");
    both_add(t, BOTH_NAN, 0, "mm", "f",
             "div<.rn|.rz|.rm|.rp><|.ftz>.f32, at the least normal :: div<.rn|.rz|.rm|.rp><|.ftz>.f32 %f20, %f0, "
             "%f1;");
    both_add(t, BOTH_NAN, 0, "m", "f",
             "rcp<.rn|.rz|.rm|.rp><|.ftz>.f32, at the least normal :: rcp<.rn|.rz|.rm|.rp><|.ftz>.f32 %f20, %f0;");
    both_add(t, BOTH_NAN, 0, "q", "f",
             "cvt<.rn|.rz|.rm|.rp><|.ftz>.f32.f64, at the least normal :: cvt<.rn|.rz|.rm|.rp><|.ftz>.f32.f64 %f20, "
             "%g0;");
    both_add(t, BOTH_EXACT, 0, "oo", "k",
             "<add|mul><|.ftz>.f16, at the least normal :: <add|mul><|.ftz>.f16 %h20, %h0, %h1;");
    both_add(t, BOTH_EXACT, 0, "OO", "K",
             "<add|mul><|.ftz>.f16x2, at the least normal :: <add|mul><|.ftz>.f16x2 %r20, %r0, %r1;");
    both_add(t, BOTH_EXACT, 0, "ooo", "k",
             "fma.rn<|.ftz>.f16, at the least normal :: fma.rn<|.ftz>.f16 %h20, %h0, %h1, %h2;");
    both_add(t, BOTH_EXACT, 0, "OOO", "K",
             "fma.rn<|.ftz>.f16x2, at the least normal :: fma.rn<|.ftz>.f16x2 %r20, %r0, %r1, %r2;");
}

static void approximate(struct both_table *t)
{
    t->family = "approximate";
    both_add(t, BOTH_ULP, 2, "xx", "f", "div.<approx|full><|.ftz>.f32 %f20, %f0, %f1;");
    both_add(t, BOTH_ULP, 2, "ff", "f", "div.full<|.ftz>.f32 %f20, %f0, %f1;");
    both_add(t, BOTH_ULP, 1, "f", "f", "rcp.approx<|.ftz>.f32 %f20, %f0;");
    both_add(t, BOTH_REL, 0x1p-23, "f", "f", "sqrt.approx<|.ftz>.f32 %f20, %f0;");
    both_add(t, BOTH_REL, 0x1.13p-23, "f", "f", "rsqrt.approx<|.ftz>.f32 %f20, %f0;"); // 2^-22.9
    both_add(t, BOTH_REL, F32_RN_OFF_BY_2_22, "x", "f", "ex2.approx<|.ftz>.f32 %f20, %f0;");
    both_add(t, BOTH_MIX, F32_RN_OFF_BY_2_22, "f", "f", "lg2.approx<|.ftz>.f32 %f20, %f0;");
    both_add(t, BOTH_ABS, 0x1.3b2cp-15, "a", "f", "<sin|cos>.approx<|.ftz>.f32 %f20, %f0;"); // 2^-14.7 within 100 pi
    both_add(t, BOTH_ABS, 0x1.6ap-21, "u", "f", "<sin|cos>.approx<|.ftz>.f32 %f20, %f0;");   // 2^-20.5 within 2 pi
    both_add(t, BOTH_REL, 0x1p-11, "f", "f", "tanh.approx.f32 %f20, %f0;");
    both_add(t, BOTH_REL, 0x1p-20, "g", "g", "rsqrt.approx.f64 %g20, %g0;");
    // No bound is given: 20 bits are kept of what is taken and of what is given.
    both_add(t, BOTH_REL, 0x1p-19, "g", "g", "<rcp|rsqrt>.approx.ftz.f64 %g20, %g0;");
    both_add(t, BOTH_REL, 0x1.13p-10, "k", "k", "ex2.approx.f16 %h20, %h0;"); // 2^-9.9
    both_add(t, BOTH_REL, 0x1.13p-10, "K", "K", "ex2.approx.f16x2 %r20, %r0;");
    both_add(t, BOTH_ABS, 0x1.03p-11, "k", "k", "tanh.approx.f16 %h20, %h0;"); // 2^-10.987
    both_add(t, BOTH_ABS, 0x1.03p-11, "K", "K", "tanh.approx.f16x2 %r20, %r0;");
    both_add(t, BOTH_REL, 0x1p-7, "w", "w", "ex2.approx.ftz.bf16 %h20, %h0;");
    both_add(t, BOTH_REL, 0x1p-7, "W", "W", "ex2.approx.ftz.bf16x2 %r20, %r0;");
    both_add(t, BOTH_ABS, 0x1p-8, "w", "w", "tanh.approx.bf16 %h20, %h0;");
    both_add(t, BOTH_ABS, 0x1p-8, "W", "W", "tanh.approx.bf16x2 %r20, %r0;");
}

void both_floats_arith(struct both_table *t)
{
    exact(t);
    halves(t);
    thresholds(t);
    approximate(t);
}

void both_compares(struct both_table *t)
{
    static const struct both_type words[] = {{"b16", 's', 'h', 'h'}, {"b32", 'i', 'r', 'r'}, {"b64", 'l', 'd', 'd'}};
    t->family = "compare";
    both_each(t, both_ints, 6, BOTH_EXACT, 0, "$$", "p", "setp.<eq|ne|lt|le|gt|ge>.# %p20, %$0, %$1;");
    for (int i = 0; i < 6; i += 2)
        both_each(t, both_ints + i, 1, BOTH_EXACT, 0, "$$", "p", "setp.<lo|ls|hi|hs>.# %p20, %$0, %$1;");
    both_each(t, words, 3, BOTH_EXACT, 0, "$$", "p", "setp.<eq|ne>.# %p20, %$0, %$1;");
    both_each(t, both_floats, 4, BOTH_EXACT, 0, "$$", "p",
              "setp.<eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan>.# %p20, %$0, %$1;");
    both_add(t, BOTH_EXACT, 0, "ff", "p", "setp.<eq|lt|geu|neu>.ftz.f32 %p20, %f0, %f1;");
    both_add(t, BOTH_EXACT, 0, "kk", "p", "setp.<eq|lt|geu|neu>.ftz.f16 %p20, %h0, %h1;");
    both_add(t, BOTH_EXACT, 0, "iii", "pp", "setp.<lt|ne>.<and|or|xor>.s32 %p20|%p21, %r0, %r1, <|!>%p2;");
    both_add(t, BOTH_EXACT, 0, "ffi", "pp", "setp.<lt|neu>.<and|or|xor>.f32 %p20|%p21, %f0, %f1, <|!>%p2;");
    both_add(t, BOTH_EXACT, 0, "KK", "pp", "setp.<eq|ne|lt|geu>.f16x2 %p20|%p21, %r0, %r1;");
    both_add(t, BOTH_EXACT, 0, "WW", "pp", "setp.<eq|ne|lt|geu>.bf16x2 %p20|%p21, %r0, %r1;");
    both_add(t, BOTH_EXACT, 0, "ff", "r", "set.<lt|geu|nan>.<u32|s32>.f32 %r20, %f0, %f1;");
    both_add(t, BOTH_EXACT, 0, "ff", "f", "set.<lt|geu|nan><|.ftz>.f32.f32 %f20, %f0, %f1;");
    both_add(t, BOTH_EXACT, 0, "iii", "r", "set.<lt|eq>.<and|or|xor>.u32.s32 %r20, %r0, %r1, %p2;");
    both_add(t, BOTH_EXACT, 0, "gg", "f", "set.<le|num>.f32.f64 %f20, %g0, %g1;");
    both_add(t, BOTH_EXACT, 0, "kk", "k", "set.<lt|neu>.f16.f16 %h20, %h0, %h1;");
    both_add(t, BOTH_EXACT, 0, "KK", "r", "set.<lt|neu>.<f16x2|u32>.f16x2 %r20, %r0, %r1;");
    both_add(t, BOTH_EXACT, 0, "iii", "r", "selp.<b32|u32|s32> %r20, %r0, %r1, %p2;");
    both_add(t, BOTH_EXACT, 0, "ssi", "h", "selp.<b16|u16|s16> %h20, %h0, %h1, %p2;");
    both_add(t, BOTH_EXACT, 0, "lli", "d", "selp.<b64|u64|s64> %d20, %d0, %d1, %p2;");
    both_add(t, BOTH_EXACT, 0, "ffi", "f", "selp.f32 %f20, %f0, %f1, %p2;");
    both_add(t, BOTH_EXACT, 0, "ggi", "g", "selp.f64 %g20, %g0, %g1, %p2;");
    both_add(t, BOTH_EXACT, 0, "iii", "r", "slct.<u32|s32|b32>.s32 %r20, %r0, %r1, %r2;");
    both_add(t, BOTH_EXACT, 0, "iif", "r", "slct.<u32|s32|b32><|.ftz>.f32 %r20, %r0, %r1, %f2;");
    both_add(t, BOTH_EXACT, 0, "llf", "d", "slct.<u64|b64>.f32 %d20, %d0, %d1, %f2;");
    both_add(t, BOTH_EXACT, 0, "ffi", "f", "slct.f32.s32 %f20, %f0, %f1, %r2;");
    both_add(t, BOTH_EXACT, 0, "f", "p", "testp.<finite|infinite|number|notanumber|normal|subnormal>.f32 %p20, %f0;");
    both_add(t, BOTH_EXACT, 0, "g", "p", "testp.<finite|infinite|number|notanumber|normal|subnormal>.f64 %p20, %g0;");
}
