// cvt between all types, against definitions written down here from the formats.
#include "support_cpu.h"
#include "support_formats.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 512 };
static uint64_t x[COUNT], y[COUNT], z[COUNT], out[COUNT];

static uint64_t random_bits(void)
{
    static uint64_t s = 0xabcdef0123456789ull;
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return s * 0x9e3779b97f4a7c15ull;
}
static uint64_t f32_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}
static float as_f32(uint64_t v)
{
    uint32_t u = (uint32_t)v;
    float f;
    memcpy(&f, &u, 4);
    return f;
}
static uint64_t f64_of(double d)
{
    uint64_t u;
    memcpy(&u, &d, 8);
    return u;
}

static void fill_floats(int e, int m, bool infinities)
{
    for (int i = 0; i < COUNT; i++) {
        unsigned bits = (unsigned)random_bits() & ((1u << (e + m)) - 1);
        double v = format_value(bits, e, m, infinities), next = format_value(bits + 1, e, m, infinities);
        if (i % 4 == 0 && isfinite(v) && isfinite(next))
            v = (v + next) / 2; // a tie
        else if (i % 4 == 1)
            v = (double)as_f32(random_bits());
        else if (i % 4 == 2)
            v = (double)(int64_t)(random_bits() >> 44) * 0x1p-12 - 128;
        x[i] = f32_of((float)(i % 7 == 3 ? -v : v));
        y[i] = f32_of((float)v);
    }
    static const uint32_t edges[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000,
                                     0x7f7fffff, 1,          0x477ff000, 0x477fefff, 0x33000000,
                                     0x33000001, 0x43e00000, 0x43e80000, 0x47600000};
    for (size_t i = 0; i < KB_COUNT(edges); i++)
        x[i] = edges[i];
}

static void test_to_narrow(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    static const struct {
        const char *text;
        char result;
        int e, m;
        bool infinities, satfinite, pair;
    } rows[] = {
        {"cvt.rn.f16.f32 %h9, %f0;", 'h', 5, 10, true, false, false},
        {"cvt.rn.bf16.f32 %h9, %f0;", 'h', 8, 7, true, false, false},
        {"cvt.f64.f32 %g3, %f0; cvt.rn.f16.f64 %h9, %g3;", 'h', 5, 10, true, false, false},
        {"cvt.rn.f16x2.f32 %r9, %f1, %f0;", 'r', 5, 10, true, false, true},
        {"cvt.rn.bf16x2.f32 %r9, %f1, %f0;", 'r', 8, 7, true, false, true},
        {"cvt.rn.satfinite.e4m3x2.f32 %h9, %f1, %f0;", 'h', 4, 3, false, true, true},
        {"cvt.rn.satfinite.e5m2x2.f32 %h9, %f1, %f0;", 'h', 5, 2, true, true, true},
    };
    for (size_t k = 0; k < KB_COUNT(rows); k++) {
        fill_floats(rows[k].e, rows[k].m, rows[k].infinities);
        cpu_statements(&c, rows[k].text, rows[k].result, COUNT, x, y, z, out);
        for (int i = 0; i < COUNT; i++) {
            unsigned want =
                nearest_bits((double)as_f32(x[i]), rows[k].e, rows[k].m, rows[k].infinities, rows[k].satfinite);
            if (rows[k].pair)
                want |= nearest_bits((double)as_f32(y[i]), rows[k].e, rows[k].m, rows[k].infinities, rows[k].satfinite)
                        << (rows[k].e + rows[k].m + 1);
            if (out[i] != want)
                fail_msg("%s of %a, %a: 0x%x, not 0x%x", rows[k].text, (double)as_f32(x[i]), (double)as_f32(y[i]),
                         (unsigned)out[i], want);
        }
    }
    cpu_close(&c);
}

static void test_from_narrow(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    enum { ALL = 65536 };
    uint64_t *in = kb_alloc(ALL * sizeof *in), *got = kb_alloc(ALL * sizeof *got);
    for (int i = 0; i < ALL; i++)
        in[i] = (uint64_t)i;
    static const struct {
        const char *text;
        int e, m;
        bool infinities;
    } rows[] = {
        {"cvt.f32.f16 %f9, %h0;", 5, 10, true},
        {"cvt.f32.bf16 %f9, %h0;", 8, 7, true},
        {"cvt.rn.f16x2.e4m3x2 %r3, %h0; mov.b32 {%h3, %h4}, %r3; cvt.f32.f16 %f9, %h3;", 4, 3, false},
        {"cvt.rn.f16x2.e5m2x2 %r3, %h0; mov.b32 {%h3, %h4}, %r3; cvt.f32.f16 %f9, %h3;", 5, 2, true},
    };
    for (size_t k = 0; k < KB_COUNT(rows); k++) {
        cpu_statements(&c, rows[k].text, 'f', ALL, in, in, in, got);
        for (unsigned i = 0; i < ALL; i++) {
            double want =
                format_value(i & ((2u << (rows[k].e + rows[k].m)) - 1), rows[k].e, rows[k].m, rows[k].infinities);
            float f = as_f32(got[i]);
            if (want != want ? f == f : got[i] != f32_of((float)want))
                fail_msg("%s of 0x%x: %g, not %g", rows[k].text, i, (double)f, want);
        }
    }
    free(in);
    free(got);
    cpu_close(&c);
}

// Float to integer: rounding, then clamping; NaN as the manual's note says.
static void test_to_integer(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    static const struct {
        const char *type;
        int bits;
        bool is_signed;
    } types[] = {{"s32", 32, true},  {"u32", 32, false}, {"s64", 64, true},
                 {"u64", 64, false}, {"s16", 16, true},  {"u16", 16, false}};
    static const char modes[] = "nzmp";
    for (size_t t = 0; t < KB_COUNT(types); t++)
        for (int from64 = 0; from64 < 2; from64++)
            for (int mode = 0; mode < 4; mode++) {
                char text[80], r = types[t].bits == 64 ? 'd' : types[t].bits == 16 ? 'h' : 'r';
                snprintf(text, sizeof text, "cvt.r%ci.%s.f%d %%%c9, %%%c0;", modes[mode], types[t].type,
                         from64 ? 64 : 32, r, from64 ? 'g' : 'f');
                static const double edges[] = {
                    0.5,          1.5,      2.5,       -0.5,   -1.5,    2147483647.0, 2147483648.0, -2147483648.0,
                    4294967295.5, 9.3e18,   -9.3e18,   1.9e19, 65535.5, 32767.5,      -32768.5,     1e300,
                    -1e300,       INFINITY, -INFINITY, NAN,    0,       -0.0};
                for (int i = 0; i < COUNT; i++) {
                    double v = i < (int)KB_COUNT(edges)
                                   ? edges[i]
                                   : ldexp((double)(int64_t)random_bits(), -(int)(random_bits() % 70));
                    x[i] = from64 ? f64_of(v) : f32_of((float)v);
                }
                cpu_statements(&c, text, r, COUNT, x, y, z, out);
                for (int i = 0; i < COUNT; i++) {
                    double v;
                    if (from64)
                        memcpy(&v, &x[i], 8);
                    else
                        v = (double)as_f32(x[i]);
                    int bits = types[t].bits;
                    long double n = mode == 0 ? rintl(v) : mode == 1 ? truncl(v) : mode == 2 ? floorl(v) : ceill(v);
                    long double low = types[t].is_signed ? -ldexpl(1, bits - 1) : 0,
                                high = ldexpl(1, types[t].is_signed ? bits - 1 : bits) - 1;
                    n = n < low ? low : n > high ? high : n;
                    uint64_t want = n < 0 ? (uint64_t)(int64_t)n : (uint64_t)n;
                    if (v != v)
                        want = from64 || bits == 64 ? 1ull << (bits - 1) : 0;
                    want &= bits == 64 ? ~0ull : (1ull << bits) - 1;
                    if (out[i] != want)
                        fail_msg("%s of %a: 0x%llx, not 0x%llx", text, v, (unsigned long long)out[i],
                                 (unsigned long long)want);
                }
            }
    cpu_close(&c);
}

static void test_between_integers(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    static const char *const names[] = {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"};
    for (int i = 0; i < COUNT; i++)
        x[i] = i % 2 ? random_bits() : random_bits() >> (random_bits() % 64);
    for (int from = 0; from < 8; from++)
        for (int to = 0; to < 8; to++)
            for (int sat = 0; sat < 2; sat++) {
                char text[80],
                    rf = from >= 6               ? 'd'
                         : from >= 4 || from < 2 ? 'r'
                                                 : 'h',
                    rt = to >= 6   ? 'd'
                         : to >= 4 ? 'r'
                                   : 'h';
                snprintf(text, sizeof text, "cvt%s.%s.%s %%%c9, %%%c0;", sat ? ".sat" : "", names[to], names[from], rt,
                         rf);
                cpu_statements(&c, text, rt, COUNT, x, y, z, out);
                int fb = 8 << (from / 2), tb = 8 << (to / 2);
                for (int i = 0; i < COUNT; i++) {
                    __int128 v = fb == 64 ? x[i] : x[i] & ((1ull << fb) - 1);
                    if (from & 1 && v >> (fb - 1) & 1)
                        v -= (__int128)1 << fb;
                    __int128 low = to & 1 ? -((__int128)1 << (tb - 1)) : 0,
                             high = ((__int128)1 << (to & 1 ? tb - 1 : tb)) - 1;
                    if (sat)
                        v = v < low ? low : v > high ? high : v;
                    uint64_t bits = (uint64_t)v;
                    if (tb < 64)
                        bits =
                            to & 1 ? (uint64_t)((int64_t)(bits << (64 - tb)) >> (64 - tb)) : bits & ((1ull << tb) - 1);
                    bits &= rt == 'd'   ? ~0ull
                            : rt == 'r' ? 0xffffffff
                                        : 0xffff; // sign-extended to the register's width
                    if (out[i] != bits)
                        fail_msg("%s of 0x%llx: 0x%llx, not 0x%llx", text, (unsigned long long)x[i],
                                 (unsigned long long)out[i], (unsigned long long)bits);
                }
            }
    cpu_close(&c);
}

static void test_from_integer(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    for (int i = 0; i < COUNT; i++)
        x[i] = i < 64 ? (1ull << i) + (random_bits() & 1) : random_bits() >> (random_bits() % 64);
    static const struct {
        const char *text;
        char result;
    } rows[] = {{"cvt.rn.f32.s32 %f9, %r0;", 'f'},  {"cvt.rn.f32.u64 %f9, %d0;", 'f'},
                {"cvt.rn.f64.s64 %g9, %d0;", 'g'},  {"cvt.rz.f32.u32 %f9, %r0;", 'f'},
                {"cvt.rp.f64.u64 %g9, %d0;", 'g'},  {"cvt.rn.f16.u64 %h9, %d0;", 'h'},
                {"cvt.rn.bf16.s64 %h9, %d0;", 'h'}, {"cvt.rn.f32.u8 %f9, %r0;", 'f'}};
    for (size_t k = 0; k < KB_COUNT(rows); k++) {
        cpu_statements(&c, rows[k].text, rows[k].result, COUNT, x, y, z, out);
        for (int i = 0; i < COUNT; i++) {
            uint64_t want = 0;
            float toward_zero = (float)(uint32_t)x[i];
            double up = (double)x[i];
            if (toward_zero > (double)(uint32_t)x[i])
                toward_zero = nextafterf(toward_zero, 0);
            if ((long double)up < (long double)x[i])
                up = nextafter(up, INFINITY);
            __float128 odd = k == 6 ? (__float128)(int64_t)x[i] : (__float128)x[i];
            switch (k) {
            case 0:
                want = f32_of((float)(int32_t)x[i]);
                break;
            case 1:
                want = f32_of((float)x[i]);
                break;
            case 2:
                want = f64_of((double)(int64_t)x[i]);
                break;
            case 3:
                want = f32_of(toward_zero);
                break;
            case 4:
                want = f64_of(up);
                break;
            case 7:
                want = f32_of((float)(uint8_t)x[i]);
                break;
            default: { // the exact value against its two neighbours in the format
                int e = k == 5 ? 5 : 8, m = k == 5 ? 10 : 7;
                unsigned guess = nearest_bits((double)odd, e, m, true, false), best = guess;
                for (unsigned g = guess - 1; g <= guess + 1; g++) {
                    double v = format_value(g, e, m, true), b = format_value(best, e, m, true);
                    if (!isfinite(v) || !isfinite(b))
                        continue;
                    __float128 dv = odd > v ? odd - v : v - odd, db = odd > b ? odd - b : b - odd;
                    if (dv < db || (dv == db && !(g & 1)))
                        best = g;
                }
                want = best;
            }
            }
            if (out[i] != want)
                fail_msg("%s of 0x%llx: 0x%llx, not 0x%llx", rows[k].text, (unsigned long long)x[i],
                         (unsigned long long)out[i], (unsigned long long)want);
        }
    }
    cpu_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_to_narrow),        cmocka_unit_test(test_from_narrow),  cmocka_unit_test(test_to_integer),
        cmocka_unit_test(test_between_integers), cmocka_unit_test(test_from_integer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
