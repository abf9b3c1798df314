// Half precision, bfloat16 and fp8 as CUDA's headers compute them (tests/ptx/practice/narrow.cu), against the formats'
// definitions: one rounding to nearest even of the exact result.
#include "support_cpu.h"
#include "support_formats.h"

#include "base/file.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 256, ROWS = 16 };
static float x[N], z[N];
static uint16_t y[ROWS * N];

static const struct format {
    int e, m;
} half = {5, 10}, brain = {8, 7};

static void fill(void)
{
    static const float special[] = {0,   -0.0f, 1,     -1,           65504, -70000, 1e-8f,    448, 464,
                                    480, 57344, 61440, 0.001953125f, 2.5f,  -3.5f,  INFINITY, NAN};
    srandom(9);
    for (int i = 0; i < N; i++) {
        float *to[] = {x, z};
        for (int k = 0; k < 2; k++) {
            float v = ldexpf(1 + (float)(random() % 4096) / 4096, (int)(random() % 24) - 12);
            to[k][i] = random() % 8 == 0 ? special[(size_t)random() % KB_COUNT(special)] : random() % 2 ? v : -v;
        }
    }
}

static bool load(struct cpu *c)
{
    char *text = NULL;
    size_t size;
    struct kb_error e;
    assert_int_equal(kb_file_read(KB_SOURCE_DIR "/tests/ptx/practice/narrow.cu", 1 << 20, &text, &size, &e), 0);
    char *ptx = cuda_to_ptx(text, NULL);
    free(text);
    if (!ptx)
        return false;
    cpu_load(c, ptx);
    free(ptx);
    return true;
}

static void run(struct cpu *c, const char *kernel)
{
    uint64_t at[3] = {cpu_address(c, 0), cpu_address(c, 1), cpu_address(c, 2)};
    cpu_run(c, kernel, 1, N, 0, &at[0], &at[1], &at[2], NULL);
    memcpy(y, c->buffers[2].host, sizeof y);
}

static double value(unsigned bits, struct format f)
{
    return format_value(bits, f.e, f.m, true);
}

// Zeros of either sign are one: their signs are looked at where single instructions are.
static void expect(const char *kernel, int row, int i, __float128 want, struct format f)
{
    uint16_t got = y[row * N + i];
    double v = value(got, f);
    bool right = want != want ? v != v : want == 0 ? v == 0 : got == nearest_bits(want, f.e, f.m, true, false);
    if (!right)
        fail_msg("%s, row %d, of %a and %a: %a, not %a", kernel, row, (double)x[i], (double)z[i], v, (double)want);
}

static double lesser(double a, double b)
{
    if (a == 0 && b == 0)
        return signbit(a) ? a : b;
    return fmin(a, b);
}

static void check_arithmetic(struct cpu *c, const char *kernel, struct format f)
{
    run(c, kernel);
    for (int i = 0; i < N; i++) {
        expect(kernel, 0, i, x[i], f);
        expect(kernel, 1, i, z[i], f);
        double a = value(y[i], f), b = value(y[N + i], f), most = -lesser(-a, -b), least = lesser(a, b);
        __float128 p = (__float128)a * b, q = a == 0 && b == 0 ? NAN : (__float128)a / b;
        double rounded = value(nearest_bits(p, f.e, f.m, true, false), f);
        const __float128 want[] = {(__float128)a + b,
                                   p,
                                   p + a,
                                   q,
                                   sqrt(fabs(a)),
                                   rint(a),
                                   fmin(fmax(rounded, 0), 1),
                                   most,
                                   a + b,
                                   a + b,
                                   p + a,
                                   p + b,
                                   least,
                                   least};
        for (int k = 0; k < (int)KB_COUNT(want); k++) {
            bool no_number = k == 6 && rounded != rounded; // saturates to 0
            expect(kernel, k + 2, i, no_number ? 0 : want[k], f);
        }
    }
}

static void test_halves(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    if (!load(&c)) {
        cpu_close(&c);
        skip();
    }
    fill();
    cpu_buffer(&c, "x", KB_F32, N, x);
    cpu_buffer(&c, "z", KB_F32, N, z);
    cpu_buffer(&c, "y", KB_F16, ROWS * N, NULL);
    check_arithmetic(&c, "halves", half);
    check_arithmetic(&c, "brains", brain);
    run(&c, "bytes");
    for (int i = 0; i < N; i++) {
        unsigned small = nearest_bits(x[i], 4, 3, false, true), wide = nearest_bits(x[i], 5, 2, true, true);
        if (x[i] == x[i]) {
            assert_int_equal(y[i], small);
            assert_int_equal(y[N + i], wide);
            expect("bytes", 2, i, format_value(small, 4, 3, false), half);
            expect("bytes", 3, i, format_value(wide, 5, 2, true), half);
        } else {
            assert_int_equal(y[i] & 0x7f, 0x7f);
            assert_true((y[N + i] & 0x7f) > 0x7c);
        }
        if (x[i] != x[i] || z[i] != z[i])
            continue;
        unsigned second = nearest_bits(z[i], 4, 3, false, true);
        assert_int_equal(y[4 * N + i], small | second << 8);
        assert_int_equal(y[5 * N + i], (small ^ 0x80) | nearest_bits(2 * z[i], 4, 3, false, true) << 8);
        expect("bytes", 6, i, format_value(second, 4, 3, false), half);
        assert_int_equal(y[7 * N + i], nearest_bits(x[i], 5, 2, true, false));
    }
    cpu_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_halves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
