// Floating-point instructions against C, __float128 and the error bounds of the PTX manual.
#include "support_cpu.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 700 };
static uint64_t x[COUNT], y[COUNT], z[COUNT], out[COUNT];

static float as_f32(uint64_t v)
{
    uint32_t u = (uint32_t)v;
    float f;
    memcpy(&f, &u, 4);
    return f;
}
static uint64_t f32_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}
static double as_f64(uint64_t v)
{
    double d;
    memcpy(&d, &v, 8);
    return d;
}
static uint64_t f64_of(double d)
{
    uint64_t u;
    memcpy(&u, &d, 8);
    return u;
}
static uint64_t random_bits(void)
{
    static uint64_t s = 0x123456789abcdefull;
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return s * 0x9e3779b97f4a7c15ull;
}

static const uint32_t edges32[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x00000001, 0x80000001,
                                   0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
                                   0x7fc00000, 0xffc12345, 0x7f800001, 0x3f000000, 0x4b000001, 0x4f000000,
                                   0x33800000, 0x7e800000, 0x34000000, 0x3f800001, 0x3f7fffff, 0xc0490fdb};
static const uint64_t edges64[] = {0,
                                   1ull << 63,
                                   0x3ff0000000000000,
                                   0xbff0000000000000,
                                   1,
                                   0x000fffffffffffff,
                                   0x0010000000000000,
                                   0x7fefffffffffffff,
                                   0x7ff0000000000000,
                                   0xfff0000000000000,
                                   0x7ff8000000000000,
                                   0x3fe0000000000000,
                                   0x4330000000000001,
                                   0x3ca0000000000000,
                                   0x3ff0000000000001};

static void fill(bool is64)
{
    uint64_t *all[] = {x, y, z};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < COUNT; i++) {
            uint64_t r = random_bits();
            // A third edges, a third any bits, a third of similar size so that sums cancel and ties occur.
            if (i % 3 == 0)
                all[k][i] = is64 ? edges64[r % KB_COUNT(edges64)] : edges32[r % KB_COUNT(edges32)];
            else if (i % 3 == 1)
                all[k][i] = is64 ? r : r & 0xffffffff;
            else
                all[k][i] = is64 ? f64_of((double)(int64_t)(r >> 40) * 0x1p-20 - 8.0)
                                 : f32_of((float)(int64_t)(r >> 50) * 0x1p-6f - 100.0f);
        }
}

static bool is_nan(uint64_t v, bool is64)
{
    return is64 ? as_f64(v) != as_f64(v) : as_f32(v) != as_f32(v);
}

typedef uint64_t expect(uint64_t a, uint64_t b, uint64_t c);
struct row {
    const char *text;
    expect *want;
};

static void check(const struct row *rows, size_t n, bool is64)
{
    struct cpu c;
    cpu_open(&c, NULL);
    fill(is64);
    for (size_t i = 0; i < n; i++) {
        cpu_statements(&c, rows[i].text, is64 ? 'g' : 'f', COUNT, x, y, z, out);
        for (int k = 0; k < COUNT; k++) {
            uint64_t want = rows[i].want(x[k], y[k], z[k]);
            // NaN: single precision gives the canonical one, double precision any.
            bool same = out[k] == want || (is_nan(want, is64) && (is64 ? is_nan(out[k], true) : out[k] == 0x7fffffff));
            if (!same)
                fail_msg("%s of 0x%llx, 0x%llx, 0x%llx: 0x%llx, not 0x%llx", rows[i].text, (unsigned long long)x[k],
                         (unsigned long long)y[k], (unsigned long long)z[k], (unsigned long long)out[k],
                         (unsigned long long)want);
        }
    }
    cpu_close(&c);
}

static float flushed(float f)
{
    return fabsf(f) < 0x1p-126f ? copysignf(0, f) : f;
}
// r with .ftz: what the exact result is when it is rounded as if exponents had no lower end decides.
static float tiny(__float128 exact, float r)
{
    return fabsf((float)(exact * 0x1p60Q)) < 0x1p-66f ? copysignf(0, r) : r;
}
static float least(float a, float b)
{
    if (a != a || b != b)
        return a != a ? b : a;
    if (a == 0 && b == 0)
        return signbit(a) ? a : b;
    return a < b ? a : b;
}
static float most(float a, float b)
{
    return -least(-a, -b);
}
static double least64(double a, double b)
{
    if (a != a || b != b)
        return a != a ? b : a;
    if (a == 0 && b == 0)
        return signbit(a) ? a : b;
    return a < b ? a : b;
}
static float clamped(float f)
{
    return f > 0 ? fminf(f, 1) : 0;
}

#define W(name, expression)                                                                                            \
    static uint64_t name(uint64_t pa, uint64_t pb, uint64_t pc)                                                        \
    {                                                                                                                  \
        float a = as_f32(pa), b = as_f32(pb), c = as_f32(pc);                                                          \
        (void)a, (void)b, (void)c;                                                                                     \
        return f32_of(expression);                                                                                     \
    }
#define D(name, expression)                                                                                            \
    static uint64_t name(uint64_t pa, uint64_t pb, uint64_t pc)                                                        \
    {                                                                                                                  \
        double a = as_f64(pa), b = as_f64(pb), c = as_f64(pc);                                                         \
        (void)a, (void)b, (void)c;                                                                                     \
        return f64_of(expression);                                                                                     \
    }
W(add, a + b)
W(sub, a - b)
W(mul, a *b)
W(fma32, fmaf(a, b, c))
W(quotient, a / b)
W(root, sqrtf(a))
W(inverse, 1 / a)
W(smaller, least(a, b))
W(larger, most(a, b))
W(smaller_nan, a != a || b != b ? NAN : least(a, b))
W(add_sat, clamped(a + b))
W(add_ftz, flushed(flushed(a) + flushed(b)))
W(mul_ftz, tiny((__float128)flushed(a) * flushed(b), flushed(a) * flushed(b)))
W(fma_ftz, tiny((__float128)flushed(a) * flushed(b) + flushed(c), fmaf(flushed(a), flushed(b), flushed(c))))
W(signs, copysignf(b, a))
W(rounded, rintf(a))
W(floored, floorf(a)) W(cut, truncf(a)) W(up, ceilf(a))
    W(div_ftz, tiny((__float128)flushed(a) / flushed(b), flushed(a) / flushed(b)))
        W(larger_ftz, flushed(most(flushed(a), flushed(b))))
            W(xorsign, copysignf(least(fabsf(a), fabsf(b)), signbit(a) != signbit(b) ? -1.0f : 1.0f)) D(add64, a + b)
                D(sub64, a - b) D(mul64, a *b) D(fma64, fma(a, b, c)) D(div64, a / b) D(root64, sqrt(a)) D(inv64, 1 / a)
                    D(min64, least64(a, b)) D(max64, -least64(-a, -b)) D(rint64, rint(a)) D(of_f32, (double)as_f32(pa))
                        D(abs64, fabs(a))

                            static const struct row single[] = {
                                {"add.f32 %f9, %f0, %f1;", add},
                                {"sub.rn.f32 %f9, %f0, %f1;", sub},
                                {"mul.f32 %f9, %f0, %f1;", mul},
                                {"fma.rn.f32 %f9, %f0, %f1, %f2;", fma32},
                                {"mad.rn.f32 %f9, %f0, %f1, %f2;", fma32},
                                {"div.rn.f32 %f9, %f0, %f1;", quotient},
                                {"sqrt.rn.f32 %f9, %f0;", root},
                                {"rcp.rn.f32 %f9, %f0;", inverse},
                                {"min.f32 %f9, %f0, %f1;", smaller},
                                {"max.f32 %f9, %f0, %f1;", larger},
                                {"min.NaN.f32 %f9, %f0, %f1;", smaller_nan},
                                {"add.sat.f32 %f9, %f0, %f1;", add_sat},
                                {"add.ftz.f32 %f9, %f0, %f1;", add_ftz},
                                {"mul.rn.ftz.f32 %f9, %f0, %f1;", mul_ftz},
                                {"fma.rn.ftz.f32 %f9, %f0, %f1, %f2;", fma_ftz},
                                {"copysign.f32 %f9, %f0, %f1;", signs},
                                {"cvt.rni.f32.f32 %f9, %f0;", rounded},
                                {"cvt.rmi.f32.f32 %f9, %f0;", floored},
                                {"cvt.rzi.f32.f32 %f9, %f0;", cut},
                                {"cvt.rpi.f32.f32 %f9, %f0;", up},
                                {"div.rn.ftz.f32 %f9, %f0, %f1;", div_ftz},
                                {"max.ftz.f32 %f9, %f0, %f1;", larger_ftz},
                                {"min.xorsign.abs.f32 %f9, %f0, %f1;", xorsign},
};
static const struct row twice[] = {
    {"add.f64 %g9, %g0, %g1;", add64},    {"sub.f64 %g9, %g0, %g1;", sub64},
    {"mul.rn.f64 %g9, %g0, %g1;", mul64}, {"fma.rn.f64 %g9, %g0, %g1, %g2;", fma64},
    {"div.rn.f64 %g9, %g0, %g1;", div64}, {"sqrt.rn.f64 %g9, %g0;", root64},
    {"rcp.rn.f64 %g9, %g0;", inv64},      {"min.f64 %g9, %g0, %g1;", min64},
    {"max.f64 %g9, %g0, %g1;", max64},    {"cvt.rni.f64.f64 %g9, %g0;", rint64},
    {"cvt.f64.f32 %g9, %f0;", of_f32},    {"abs.f64 %g9, %g0;", abs64},
};

static void test_single(void **state)
{
    (void)state;
    check(single, KB_COUNT(single), false);
}
static void test_double(void **state)
{
    (void)state;
    check(twice, KB_COUNT(twice), true);
}

// A directed result is the neighbour of the exact value on that side: exact products and sums in 113 bits.
static bool directed_right(float r, __float128 exact, char mode)
{
    __float128 rr = (__float128)r;
    if (mode == 'z')
        mode = exact < 0 ? 'p' : 'm';
    if (mode == 'm')
        return rr <= exact && (rr == exact || (__float128)nextafterf(r, INFINITY) > exact);
    return rr >= exact && (rr == exact || (__float128)nextafterf(r, -INFINITY) < exact);
}

static void test_directed(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    static const char *const ops[] = {"add", "mul", "fma", "div", "cvt"};
    for (int i = 0; i < COUNT; i++) {
        x[i] = f32_of((float)((double)(int64_t)(random_bits() >> 30) * 0x1p-17 - 65536));
        y[i] = f32_of((float)((double)(int64_t)(random_bits() >> 34) * 0x1p-25 + 0.001));
        z[i] = f32_of((float)((double)(int64_t)(random_bits() >> 36) * 0x1p-20 - 100));
    }
    for (size_t k = 0; k < KB_COUNT(ops); k++)
        for (const char *mode = "zmp"; *mode; mode++) {
            char text[128];
            if (k == 4)
                snprintf(text, sizeof text,
                         "cvt.f64.f32 %%g3, %%f0; div.rn.f64 %%g3, %%g3, 0d4008000000000000; "
                         "cvt.r%c.f32.f64 %%f9, %%g3;",
                         *mode);
            else
                snprintf(text, sizeof text, "%s.r%c.f32 %%f9, %%f0, %%f1%s;", ops[k], *mode, k == 2 ? ", %f2" : "");
            cpu_statements(&c, text, 'f', COUNT, x, y, z, out);
            for (int i = 0; i < COUNT; i++) {
                __float128 a = as_f32(x[i]), b = as_f32(y[i]), d = as_f32(z[i]);
                __float128 exact = k == 0   ? a + b
                                   : k == 1 ? a * b
                                   : k == 2 ? a * b + d
                                   : k == 3 ? a / b
                                            : (__float128)((double)a / 3.0);
                if (!directed_right(as_f32(out[i]), exact, *mode))
                    fail_msg("%s of %a, %a, %a: %a", text, (double)a, (double)b, (double)d, (double)as_f32(out[i]));
            }
        }
    cpu_close(&c);
}

// Documented bounds: ex2 and lg2 2^-22 relative (lg2 near 1: absolute), sin and cos 2^-20.5 absolute in [-pi, pi],
// rsqrt 2^-22.9, tanh 2^-11, rcp and sqrt 1 ulp, div 2 ulp.
static void test_approximate(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    static const struct {
        const char *name;
        double (*want)(double);
        double low, high, relative, absolute;
    } rows[] = {
        {"ex2.approx", exp2, -140, 127, 0x1p-22, 0},         {"ex2.approx.ftz", exp2, -120, 127, 0x1p-22, 0},
        {"lg2.approx", log2, 1e-30, 1e30, 0x1p-22, 0x1p-22}, {"sin.approx", sin, -3.14, 3.14, 0, 0x1p-20},
        {"cos.approx", cos, -3.14, 3.14, 0, 0x1p-20},        {"tanh.approx", tanh, -9, 9, 0x1p-10, 0},
        {"sqrt.approx", sqrt, 1e-30, 1e30, 0x1p-22, 0},
    };
    for (size_t k = 0; k < KB_COUNT(rows); k++) {
        char text[80];
        snprintf(text, sizeof text, "%s.f32 %%f9, %%f0;", rows[k].name);
        for (int i = 0; i < COUNT; i++)
            x[i] = f32_of((float)(rows[k].low + (rows[k].high - rows[k].low) * i / (COUNT - 1)));
        cpu_statements(&c, text, 'f', COUNT, x, y, z, out);
        for (int i = 0; i < COUNT; i++) {
            double want = rows[k].want((double)as_f32(x[i])), got = (double)as_f32(out[i]);
            if (!(fabs(got - want) <= rows[k].relative * fabs(want) + rows[k].absolute + 0x1p-149))
                fail_msg("%s of %g: %.9g, not %.9g", rows[k].name, (double)as_f32(x[i]), got, want);
        }
    }
    cpu_close(&c);
}

// What the manual's tables say for special values.
static void test_special_values(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    static const struct {
        const char *text;
        uint32_t in, want;
    } rows[] = {
        {"ex2.approx.f32 %f9, %f0;", 0xff800000, 0},           {"ex2.approx.f32 %f9, %f0;", 0x7f800000, 0x7f800000},
        {"ex2.approx.f32 %f9, %f0;", 0x80000000, 0x3f800000},  {"ex2.approx.f32 %f9, %f0;", 0x7fc00001, 0x7fffffff},
        {"ex2.approx.ftz.f32 %f9, %f0;", 0xc3010000, 0}, // 2^-129
        {"lg2.approx.f32 %f9, %f0;", 0, 0xff800000},           {"lg2.approx.f32 %f9, %f0;", 0x80000000, 0xff800000},
        {"lg2.approx.f32 %f9, %f0;", 0xbf800000, 0x7fffffff},  {"lg2.approx.f32 %f9, %f0;", 0x7f800000, 0x7f800000},
        {"lg2.approx.f32 %f9, %f0;", 1, 0xc3150000}, // 2^-149
        {"rsqrt.approx.f32 %f9, %f0;", 0, 0x7f800000},         {"rsqrt.approx.f32 %f9, %f0;", 0x80000000, 0xff800000},
        {"rsqrt.approx.f32 %f9, %f0;", 0x7f800000, 0},         {"rcp.approx.f32 %f9, %f0;", 0x80000000, 0xff800000},
        {"sqrt.approx.f32 %f9, %f0;", 0x80000000, 0x80000000}, {"sin.approx.f32 %f9, %f0;", 0x80000000, 0x80000000},
        {"sin.approx.f32 %f9, %f0;", 0x7f800000, 0x7fffffff},  {"tanh.approx.f32 %f9, %f0;", 0xff800000, 0xbf800000},
        {"cos.approx.f32 %f9, %f0;", 0, 0x3f800000},           {"neg.f32 %f9, %f0;", 0, 0x80000000},
        {"cvt.sat.f32.f32 %f9, %f0;", 0x7fc00000, 0},          {"cvt.sat.f32.f32 %f9, %f0;", 0x40000000, 0x3f800000},
    };
    for (size_t i = 0; i < KB_COUNT(rows); i++) {
        x[0] = rows[i].in;
        cpu_statements(&c, rows[i].text, 'f', 1, x, y, z, out);
        if (out[0] != rows[i].want)
            fail_msg("%s of 0x%08x: 0x%08x, not 0x%08x", rows[i].text, rows[i].in, (unsigned)out[0], rows[i].want);
    }
    cpu_close(&c);
}

static void test_compare(void **state)
{
    (void)state;
    static const char *const names[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                        "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
    struct cpu c;
    cpu_open(&c, NULL);
    fill(false);
    for (size_t k = 0; k < KB_COUNT(names); k++) {
        char text[64];
        snprintf(text, sizeof text, "setp.%s.f32 %%p9, %%f0, %%f1;", names[k]);
        cpu_statements(&c, text, 'p', COUNT, x, y, z, out);
        for (int i = 0; i < COUNT; i++) {
            float a = as_f32(x[i]), b = as_f32(y[i]);
            bool u = a != a || b != b;
            const bool plain[] = {a == b, !u && a != b, a<b, a <= b, a> b, a >= b};
            bool want = k < 6 ? plain[k] : k < 12 ? u || plain[k - 6] : k == 12 ? !u : u;
            if (out[i] != want)
                fail_msg("%s of %g, %g: %d", text, (double)a, (double)b, (int)out[i]);
        }
    }
    cpu_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single),      cmocka_unit_test(test_double),         cmocka_unit_test(test_directed),
        cmocka_unit_test(test_approximate), cmocka_unit_test(test_special_values), cmocka_unit_test(test_compare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
