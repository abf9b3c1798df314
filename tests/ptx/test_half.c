// f16 and bf16 arithmetic: results rounded once from the exact value, in all lanes and both halves.
#include "support_cpu.h"
#include "support_formats.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 2048 };
static uint64_t x[COUNT], y[COUNT], z[COUNT], out[COUNT];

static uint64_t random_bits(void)
{
    static uint64_t s = 0x1357924680acebdfull;
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return s * 0x9e3779b97f4a7c15ull;
}

static const uint16_t edges[] = {0,      0x8000, 1,      0x8001, 0x3ff,  0x400,  0x7bff, 0xfbff,
                                 0x7c00, 0xfc00, 0x7e00, 0x7f80, 0xff80, 0x3c00, 0xbc00, 0x3f80,
                                 0x7f7f, 0x0080, 0x007f, 0x4248, 0x7fc1, 0x1400, 0x5800};

static void fill(void)
{
    uint64_t *all[] = {x, y, z};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < COUNT; i++) {
            all[k][i] = 0;
            for (int h = 0; h < 2; h++) {
                uint64_t r = random_bits();
                uint16_t v = r % 4 == 0   ? edges[(r >> 8) % KB_COUNT(edges)]
                             : r % 4 == 1 ? (uint16_t)(0x3c00 + (r >> 8) % 0x400) // close together: ties and cancelling
                                          : (uint16_t)(r >> 8);
                all[k][i] |= (uint64_t)v << (16 * h);
            }
        }
}

struct format {
    const char *name;
    int e, m;
};
static const struct format f16 = {"f16", 5, 10}, bf16 = {"bf16", 8, 7};

typedef __float128 exact(__float128 a, __float128 b, __float128 c);
// Up to 280 bits lie between bf16 operands; what 113 bits lose moves the sum one step, so that no false tie arises.
static __float128 nudged_sum(__float128 a, __float128 b)
{
    __float128 s = a + b, t = s - a, error = (a - (s - t)) + (b - t), step = (s < 0 ? -s : s) * 0x1p-112;
    return error > 0 ? s + step : error < 0 ? s - step : s;
}
static __float128 sum(__float128 a, __float128 b, __float128 c)
{
    (void)c;
    return nudged_sum(a, b);
}
static __float128 difference(__float128 a, __float128 b, __float128 c)
{
    (void)c;
    return nudged_sum(a, -b);
}
static __float128 product(__float128 a, __float128 b, __float128 c)
{
    (void)c;
    return a * b;
}
static __float128 fused(__float128 a, __float128 b, __float128 c)
{
    return nudged_sum(a * b, c);
}
static __float128 least(__float128 a, __float128 b, __float128 c)
{
    (void)c;
    if (a != a || b != b)
        return a != a ? b : a;
    if (a == 0 && b == 0)
        return signbit((double)a) ? a : b;
    return a < b ? a : b;
}
static __float128 most(__float128 a, __float128 b, __float128 c)
{
    return -least(-a, -b, c);
}
static __float128 rectified(__float128 a, __float128 b, __float128 c)
{
    __float128 v = fused(a, b, c);
    return v != v || v > 0 ? v : 0;
}
static __float128 clamped(__float128 a, __float128 b, __float128 c)
{
    __float128 v = sum(a, b, c);
    return v > 0 ? (v < 1 ? v : 1) : 0;
}

static const struct {
    const char *op;
    int sources;
    exact *want;
    bool only_f16;
} rows[] = {{"add", 2, sum, false},
            {"sub", 2, difference, false},
            {"mul", 2, product, false},
            {"fma.rn", 3, fused, false},
            {"min", 2, least, false},
            {"max", 2, most, false},
            {"fma.rn.relu", 3, rectified, false},
            {"add.sat", 2, clamped, true}};

static uint32_t expected(exact *want, const struct format *f, uint32_t a, uint32_t b, uint32_t c)
{
    __float128 v =
        want(format_value(a, f->e, f->m, true), format_value(b, f->e, f->m, true), format_value(c, f->e, f->m, true));
    return v != v ? 0x7fff : nearest_bits(v, f->e, f->m, true, false);
}

static void check_format(struct cpu *c, const struct format *f)
{
    for (size_t k = 0; k < KB_COUNT(rows); k++)
        for (int pair = 0; pair < 2; pair++) {
            if (rows[k].only_f16 && f != &f16)
                continue;
            char text[120], r = pair ? 'r' : 'h';
            snprintf(text, sizeof text, "%s.%s%s %%%c9, %%%c0, %%%c1%s%s;", rows[k].op, f->name, pair ? "x2" : "", r, r,
                     r, rows[k].sources > 2 ? ", %" : "", rows[k].sources > 2 ? (pair ? "r2" : "h2") : "");
            cpu_statements(c, text, r, COUNT, x, y, z, out);
            for (int i = 0; i < COUNT; i++) {
                uint32_t want = expected(rows[k].want, f, x[i] & 0xffff, y[i] & 0xffff, z[i] & 0xffff);
                if (pair)
                    want |= expected(rows[k].want, f, x[i] >> 16 & 0xffff, y[i] >> 16 & 0xffff, z[i] >> 16 & 0xffff)
                            << 16;
                if (out[i] != want)
                    fail_msg("%s of 0x%x, 0x%x, 0x%x: 0x%x, not 0x%x", text, (unsigned)x[i], (unsigned)y[i],
                             (unsigned)z[i], (unsigned)out[i], want);
            }
        }
}

static void test_arithmetic(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    fill();
    check_format(&c, &f16);
    check_format(&c, &bf16);
    cpu_close(&c);
}

static void test_compare(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    fill();
    cpu_statements(&c, "setp.gtu.f16 %p9, %h0, %h1;", 'p', COUNT, x, y, z, out);
    for (int i = 0; i < COUNT; i++) {
        double a = format_value(x[i] & 0xffff, 5, 10, true), b = format_value(y[i] & 0xffff, 5, 10, true);
        assert_int_equal(out[i], !(a <= b));
    }
    cpu_statements(&c, "setp.le.f16x2 %p1|%p9, %r0, %r1;", 'p', COUNT, x, y, z, out);
    for (int i = 0; i < COUNT; i++) {
        double a = format_value(x[i] >> 16 & 0xffff, 5, 10, true), b = format_value(y[i] >> 16 & 0xffff, 5, 10, true);
        assert_int_equal(out[i], a <= b);
    }
    cpu_statements(&c, "set.ne.u32.bf16x2 %r9, %r0, %r1;", 'r', COUNT, x, y, z, out);
    for (int i = 0; i < COUNT; i++) {
        uint32_t want = 0;
        for (int h = 0; h < 32; h += 16) {
            double a = format_value(x[i] >> h & 0xffff, 8, 7, true), b = format_value(y[i] >> h & 0xffff, 8, 7, true);
            want |= a < b || a > b ? 0xffffu << h : 0;
        }
        assert_int_equal(out[i], want);
    }
    cpu_close(&c);
}

// The functions of cuda_fp16.h end to end: their inline assembly with its own scopes.
static void test_header(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_load_cuda(&c,
                  "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
                  "extern \"C\" __global__ void k(const float *x, float *y) { int t = threadIdx.x; float v = x[t];\n"
                  "  __half2 h = __floats2half2_rn(v, v + 1); __half2 e = h2exp(h), l = h2log(__habs2(h)), d = "
                  "__h2div(h, __float2half2_rn(3)), s = h2sin(h);\n"
                  "  y[t] = __low2float(e); y[32 + t] = __high2float(l); y[64 + t] = __low2float(d); y[96 + t] = "
                  "__high2float(s);\n"
                  "  y[128 + t] = __half2float(hsqrt(__float2half(fabsf(v)))); __nv_bfloat16 b = __float2bfloat16(v); "
                  "y[160 + t] = __bfloat162float(__hfma(b, b, b));\n"
                  "  y[192 + t] = __hgt(__low2half(h), __float2half(0.5f)) ? 1 : 2; y[224 + t] = "
                  "(float)__half2int_rz(__low2half(h)) + __half2float(__int2half_rn(t)); }\n");
    float *in = cpu_buffer(&c, "x", KB_F32, 32, NULL), *got = cpu_buffer(&c, "y", KB_F32, 256, NULL);
    for (int t = 0; t < 32; t++)
        in[t] = (float)t / 4 - 3.75f; // exact in f16
    uint64_t p[2] = {cpu_address(&c, 0), cpu_address(&c, 1)};
    cpu_run(&c, "k", 1, 32, 0, &p[0], &p[1], NULL);
    for (int t = 0; t < 32; t++) {
        double v = (double)in[t];
        const double want[] = {exp(v),        log(fabs(v + 1)), v / 3,           sin(v + 1),
                               sqrt(fabs(v)), v * v + v,        v > 0.5 ? 1 : 2, trunc(v) + t};
        const double bound[] = {2e-3, 2e-3, 1e-3, 2e-3, 1e-3, 1e-2, 0, 0};
        for (int k = 0; k < 8; k++)
            if (isfinite(want[k]) && !(fabs((double)got[32 * k + t] - want[k]) <= bound[k] * (fabs(want[k]) + 0.1)))
                fail_msg("row %d of %g: %g, not %g", k, v, (double)got[32 * k + t], want[k]);
    }
    cpu_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_arithmetic), cmocka_unit_test(test_compare),
                                       cmocka_unit_test(test_header)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
