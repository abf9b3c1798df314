// What newer targets add: pairs of single precision, mixed precision, three inputs; and 128-bit registers.
#include "support_cpu.h"
#include "support_formats.h"

#include "base/memory.h"

#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 400 };
static uint64_t x[COUNT], y[COUNT], z[COUNT], out[COUNT];

static uint32_t random_f32(void)
{
    static const uint32_t edges[] = {0,          0x80000000, 1,          0x807fffff, 0x3f800000, 0x7f7fffff,
                                     0x7f800000, 0xff800000, 0x7fc00000, 0x3f800001, 0x33800000, 0xbf800000};
    uint32_t r = (uint32_t)random();
    if (r % 3 == 0)
        return edges[r / 3 % KB_COUNT(edges)];
    return r % 3 == 1 ? r << 1 : 0x3f000000u + (r & 0x81ffffff);
}

static void fill(void)
{
    srandom(5);
    uint64_t *all[] = {x, y, z};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < COUNT; i++)
            all[k][i] = (uint64_t)random_f32() << 32 | random_f32();
}

static float f32(uint64_t bits)
{
    uint32_t u = (uint32_t)bits;
    float f;
    memcpy(&f, &u, 4);
    return f;
}
static uint32_t bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return f != f ? 0x7fffffff : u;
}
static float flushed(float f)
{
    return fabsf(f) < 0x1p-126f ? copysignf(0, f) : f;
}

// Not inlined: the rounding mode is the caller's.
static __attribute__((noinline)) float sum(float a, float b, float c)
{
    (void)c;
    volatile float p = a, q = b;
    return p + q;
}
static __attribute__((noinline)) float product(float a, float b, float c)
{
    (void)c;
    volatile float p = a, q = b;
    return p * q;
}
static __attribute__((noinline)) float fused(float a, float b, float c)
{
    volatile float p = a, q = b, r = c;
    return fmaf(p, q, r);
}
static float difference(float a, float b, float c)
{
    return sum(a, -b, c);
}

static void test_pairs(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        float (*want)(float, float, float);
        int mode;
        bool ftz;
    } rows[] = {
        {"add.rn.f32x2 %d9, %d0, %d1;", sum, FE_TONEAREST, false},
        {"add.f32x2 %d9, %d0, %d1;", sum, FE_TONEAREST, false},
        {"sub.rz.f32x2 %d9, %d0, %d1;", difference, FE_TOWARDZERO, false},
        {"mul.rp.f32x2 %d9, %d0, %d1;", product, FE_UPWARD, false},
        {"mul.rn.ftz.f32x2 %d9, %d0, %d1;", product, FE_TONEAREST, true},
        {"fma.rn.f32x2 %d9, %d0, %d1, %d2;", fused, FE_TONEAREST, false},
        {"fma.rm.f32x2 %d9, %d0, %d1, %d2;", fused, FE_DOWNWARD, false},
        {"fma.rn.ftz.f32x2 %d9, %d0, %d1, %d2;", fused, FE_TONEAREST, true},
        {"mov.b64 {%r10, %r11}, %d1; fma.rn.f32x2 %d9, %d0, {%r10, %r11}, %d2;", fused, FE_TONEAREST, false},
        {"mov.b64 %d9, %d0; fma.rz.f32x2 %d9, %d9, %d1, %d2;", fused, FE_TOWARDZERO, false},
    };
    struct cpu c;
    cpu_open(&c, NULL);
    fill();
    for (size_t i = 0; i < KB_COUNT(rows); i++) {
        cpu_statements(&c, rows[i].text, 'd', COUNT, x, y, z, out);
        for (int k = 0; k < COUNT; k++)
            for (int h = 0; h < 64; h += 32) {
                float v[3] = {f32(x[k] >> h), f32(y[k] >> h), f32(z[k] >> h)};
                for (int j = 0; j < 3 && rows[i].ftz; j++)
                    v[j] = flushed(v[j]);
                fesetround(rows[i].mode);
                float w = rows[i].want(v[0], v[1], v[2]);
                fesetround(FE_TONEAREST);
                uint32_t want = bits_of(rows[i].ftz ? flushed(w) : w), got = (uint32_t)(out[k] >> h);
                if (got != want)
                    fail_msg("%s of %a, %a, %a: 0x%08x, not 0x%08x", rows[i].text, (double)v[0], (double)v[1],
                             (double)v[2], got, want);
            }
    }
    cpu_close(&c);
}

static float least(float a, float b)
{
    if (a != a || b != b)
        return a != a ? b : a;
    if (a == 0 && b == 0)
        return signbit(a) ? a : b;
    return a < b ? a : b;
}
static float least3(float a, float b, float c)
{
    return least(least(a, b), c);
}
static float most3(float a, float b, float c)
{
    return -least(least(-a, -b), -c);
}
static float most3_nan(float a, float b, float c)
{
    return a != a || b != b || c != c ? NAN : most3(a, b, c);
}
static float least3_abs(float a, float b, float c)
{
    return least3(fabsf(a), fabsf(b), fabsf(c));
}

static float half(uint64_t bits)
{
    return (float)format_value((unsigned)bits & 0xffff, 5, 10, true);
}
static float brain(uint64_t bits)
{
    return f32((bits & 0xffff) << 16);
}

static void test_inputs(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        float (*want)(float, float, float);
        float (*narrow)(uint64_t); // of the inputs but the last
        int inputs;
    } rows[] = {
        {"min.f32 %f9, %f0, %f1, %f2;", least3, NULL, 3},
        {"max.f32 %f9, %f0, %f1, %f2;", most3, NULL, 3},
        {"max.NaN.f32 %f9, %f0, %f1, %f2;", most3_nan, NULL, 3},
        {"min.abs.f32 %f9, %f0, %f1, %f2;", least3_abs, NULL, 3},
        {"mov.f32 %f9, %f2; min.f32 %f9, %f0, %f1, %f9;", least3, NULL, 3},
        {"add.f32.f16 %f9, %h0, %f1;", sum, half, 2},
        {"sub.rn.f32.bf16 %f9, %h0, %f1;", difference, brain, 2},
        {"fma.rn.f32.f16 %f9, %h0, %h1, %f2;", fused, half, 3},
        {"fma.rn.f32.bf16 %f9, %h0, %h1, %f2;", fused, brain, 3},
    };
    struct cpu c;
    cpu_open(&c, NULL);
    fill();
    for (size_t i = 0; i < KB_COUNT(rows); i++) {
        cpu_statements(&c, rows[i].text, 'f', COUNT, x, y, z, out);
        for (int k = 0; k < COUNT; k++) {
            uint64_t in[3] = {x[k], y[k], z[k]};
            float v[3];
            for (int j = 0; j < 3; j++)
                v[j] = rows[i].narrow && j < rows[i].inputs - 1 ? rows[i].narrow(in[j]) : f32(in[j]);
            uint32_t want = bits_of(rows[i].want(v[0], v[1], v[2]));
            if ((uint32_t)out[k] != want)
                fail_msg("%s of %a, %a, %a: 0x%08x, not 0x%08x", rows[i].text, (double)v[0], (double)v[1], (double)v[2],
                         (uint32_t)out[k], want);
        }
    }
    cpu_close(&c);
}

static void test_wide_registers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int pick; // of x, y, z
    } rows[] = {
        {".reg .b128 %q<4>; mov.b128 %q1, {%d0, %d1}; mov.b128 {%d10, %d9}, %q1;", 1},
        {".reg .b128 %q<4>; mov.b128 %q1, {%d0, %d1}; mov.b128 %q2, %q1; mov.b128 {%d9, %d10}, %q2;", 0},
        {".reg .b128 %q<4>; mov.b128 %q1, {%d0, %d1}; mov.b128 %q1, {%d1, %d2}; mov.b128 {%d10, %d9}, %q1;", 2},
        {"mov.b64 %d9, %d0; mov.b64 %d10, %d1; mov.b128 {%d10, %d9}, {%d9, %d10};", 1},
        {".reg .b128 %q<4>; .shared .align 16 .b8 s[1024]; mul.lo.u32 %r10, %r34, 16; mov.u32 %r11, s; "
         "add.u32 %r10, %r10, %r11; mov.b128 %q1, {%d2, %d0}; st.shared.b128 [%r10], %q1; "
         "ld.shared.b128 %q2, [%r10]; mov.b128 {%d10, %d9}, %q2;",
         0},
        {".reg .b128 %q<4>; .shared .align 16 .b8 s[1024]; mul.lo.u32 %r10, %r34, 16; mov.u32 %r11, s; "
         "add.u32 %r10, %r10, %r11; mov.b128 %q1, {%d2, %d0}; st.shared.v2.b64 [%r10], {%d0, %d1}; "
         "atom.shared.exch.b128 %q2, [%r10], %q1; ld.shared.b64 %d10, [%r10]; mov.b128 {%d11, %d9}, %q2;",
         1},
        {".reg .b128 %q<4>; .shared .align 16 .b8 s[1024]; mul.lo.u32 %r10, %r34, 16; mov.u32 %r11, s; "
         "add.u32 %r10, %r10, %r11; mov.b128 %q1, {%d0, %d1}; mov.b128 %q3, {%d2, %d2}; "
         "st.shared.b128 [%r10], %q1; atom.shared.cas.b128 %q2, [%r10], %q1, %q3; ld.shared.b64 %d9, [%r10+8];",
         2},
    };
    struct cpu c;
    cpu_open(&c, NULL);
    fill();
    for (size_t i = 0; i < KB_COUNT(rows); i++) {
        const uint64_t *want[] = {x, y, z};
        cpu_statements(&c, rows[i].text, 'd', COUNT, x, y, z, out);
        for (int k = 0; k < COUNT; k++)
            assert_int_equal(out[k], want[rows[i].pick][k]);
    }
    cpu_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pairs), cmocka_unit_test(test_inputs),
                                       cmocka_unit_test(test_wide_registers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
