// Random numbers, conversions, ULP, fills and poison of element.h, against independent ways to the same values.
#include "verify/element.h"
#include "verify/loops.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void quantile_inverts_erfc(void **state)
{
    (void)state;
    for (int i = 1; i < 20000; i++) {
        double p = i / 20000.0, back = 0.5 * erfc(-kbe_normal(p) / sqrt(2));
        assert_true(fabs(back - p) < 1e-13 * p + 1e-15);
    }
    assert_true(fabs(kbe_normal(1e-10) + 6.361340902404056) < 1e-12);
    assert_true(kbe_normal(0x1p-53) > -9 && isfinite(kbe_normal(0x1p-53)));
    for (double x = -600; x < 600; x += 0.37)
        assert_true(fabs(kbe_exp(x) / exp(x) - 1) < 1e-14);
}

static void normal_has_its_moments(void **state)
{
    (void)state;
    enum { COUNT = 200000 };
    double sum = 0, squares = 0, fourth = 0;
    for (int i = 0; i < COUNT; i++) {
        double z = kbe_normal(kbe_unit(kbe_random(99, (uint64_t)i)));
        sum += z;
        squares += z * z;
        fourth += z * z * z * z;
    }
    assert_true(fabs(sum / COUNT) < 0.01);
    assert_true(fabs(squares / COUNT - 1) < 0.02);
    assert_true(fabs(fourth / COUNT - 3) < 0.15);
}

static void single_and_half_as_the_compiler_has_them(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 300000; i++) {
        double v = kbe_from_bits(kbe_random(3, i));
        if (i & 1) // around the ranges of the narrow types
            v = ldexp(kbe_unit(kbe_random(4, i)) - 0.5, (int)(kbe_random(5, i) % 300) - 160);
        if (isnan(v))
            continue;
        float f = (float)v;
        assert_int_equal(kbe_encode(KBE_F32, v), kbe_bits32(f));
        assert_true(kbe_decode(KBE_F32, kbe_bits32(f)) == (double)f);
#ifdef __FLT16_MAX__
        _Float16 h = (_Float16)f; // from float, so that no double rounding differs
        uint16_t bits;
        memcpy(&bits, &h, 2);
        assert_int_equal(kbe_encode(KBE_F16, (double)f), bits);
#endif
    }
}

static void every_code_survives(void **state)
{
    (void)state;
    for (int type = KBE_F16; type <= KBE_U8; type++)
        for (uint64_t code = 0; code < 1ull << (8 * kbe_size(type)); code++) {
            double v = kbe_decode(type, code);
            if (!isnan(v))
                assert_int_equal(kbe_encode(type, v), code);
        }
    assert_true(kbe_decode(KBE_E4M3, 0x7e) == 448 && isnan(kbe_decode(KBE_E4M3, 0x7f)));
    assert_true(kbe_decode(KBE_E5M2, 0x7b) == 57344 && isinf(kbe_decode(KBE_E5M2, 0x7c)));
    assert_true(kbe_decode(KBE_E4M3, 1) == 0x1p-9);
    assert_int_equal(kbe_encode(KBE_BF16, 1 + 0x1p-8), 0x3f80);           // a tie: to even
    assert_int_equal(kbe_encode(KBE_BF16, 1 + 0x1p-8 + 0x1p-40), 0x3f81); // just above it
    assert_int_equal(kbe_encode(KBE_TF32, 1 + 0x1p-11 + 0x1p-30) & 0x1fff, 0);
}

static void integers_round_to_even_and_saturate(void **state)
{
    (void)state;
    assert_int_equal((signed char)kbe_encode(KBE_I8, 2.5), 2);
    assert_int_equal((signed char)kbe_encode(KBE_I8, 3.5), 4);
    assert_int_equal((signed char)kbe_encode(KBE_I8, -2.5), -2);
    assert_int_equal((signed char)kbe_encode(KBE_I8, -1e9), -128);
    assert_int_equal(kbe_encode(KBE_U8, -1), 0);
    assert_int_equal(kbe_encode(KBE_I64, 1e300), INT64_MAX);
    assert_int_equal(kbe_encode(KBE_I32, NAN), 0);
}

static void ulp_counts_steps(void **state)
{
    (void)state;
    float x = 1;
    for (int i = 0; i < 5; i++)
        x = nextafterf(x, 2);
    assert_int_equal(kbe_ulp(KBE_F32, kbe_bits32(x), kbe_bits32(1)), 5);
    assert_int_equal(kbe_ulp(KBE_F32, kbe_bits32(-0.0F), kbe_bits32(0)), 0);
    assert_int_equal(kbe_ulp(KBE_F32, 1, 0x80000001u), 2); // the smallest numbers on both sides of 0
    assert_int_equal(kbe_ulp(KBE_E4M3, 0x38, 0x40), 8);
    assert_int_equal(kbe_ulp(KBE_TF32, 0x3f802000, 0x3f800000), 1);
    assert_int_equal(kbe_ulp(KBE_I64, (uint64_t)INT64_MIN, INT64_MAX), UINT64_MAX);
    assert_int_equal(kbe_ulp(KBE_F64, kbe_bits(1), kbe_bits(nextafter(1, 2))), 1);
}

static void fills_are_what_they_say(void **state)
{
    (void)state;
    enum { INNER = 50, COUNT = 40 * INNER };
    static float x[COUNT];
    struct kbe_fill f = {.key = 11, .inner = INNER, .rows = 40, .a = -2, .b = 3, .kind = KBE_UNIFORM, .dtype = KBE_F32};
    kb_loop_fill(x, COUNT, &f);
    for (int i = 0; i < COUNT; i++)
        assert_true(x[i] >= -2 && x[i] <= 3);
    f.kind = KBE_INTEGERS;
    kb_loop_fill(x, COUNT, &f);
    int seen = 0;
    for (int i = 0; i < COUNT; i++) {
        assert_true(x[i] == floorf(x[i]) && x[i] >= -2 && x[i] <= 3);
        seen |= 1 << (int)(x[i] + 2);
    }
    assert_int_equal(seen, 0x3f);
    f.kind = KBE_CANCELLATION;
    f.a = 0;
    f.b = 1000;
    kb_loop_fill(x, COUNT, &f);
    for (int i = 0; i < COUNT; i += 2)
        assert_true(x[i] > 900 && x[i + 1] < -900 && fabsf(x[i] + x[i + 1]) < 5);
    f.kind = KBE_DENORMALS;
    kb_loop_fill(x, COUNT, &f);
    int below = 0;
    for (int i = 0; i < COUNT; i++)
        below += fpclassify(x[i]) == FP_SUBNORMAL;
    assert_true(below > COUNT / 2 && below < COUNT);
    f.kind = KBE_LOGNORMAL;
    f.b = 1;
    kb_loop_fill(x, COUNT, &f);
    for (int i = 0; i < COUNT; i++)
        assert_true(x[i] > 0);
}

static void neg_inf_rows_has_whole_rows_and_single_elements(void **state)
{
    (void)state;
    enum { INNER = 50, ROWS = 40 };
    static float x[ROWS * INNER];
    struct kbe_fill f = {.key = 5, .inner = INNER, .rows = ROWS, .b = 1, .kind = KBE_NEG_INF_ROWS, .dtype = KBE_F32};
    kb_loop_fill(x, ROWS * INNER, &f);
    int whole = 0, partly = 0;
    for (int r = 0; r < ROWS; r++) {
        int count = 0;
        for (int c = 0; c < INNER; c++)
            count += isinf(x[r * INNER + c]) != 0;
        whole += count == INNER;
        partly += count > 0 && count < INNER;
    }
    assert_true(whole >= 1 && whole < ROWS / 2 && partly > 5);
    f.rows = 1;
    f.inner = ROWS * INNER;
    kb_loop_fill(x, ROWS * INNER, &f);
    assert_true(isfinite(x[0])); // a single row is never all -inf
}

static void poisons_are_two_and_recognizable(void **state)
{
    (void)state;
    for (int type = KBE_F64; type <= KBE_I64; type++) {
        assert_true(kbe_poison(type, 0) != kbe_poison(type, 1));
        if (kbe_is_float_type(type))
            assert_true(isnan(kbe_decode(type, kbe_poison(type, 0))) && isnan(kbe_decode(type, kbe_poison(type, 1))));
        if (kbe_size(type) < 8)
            assert_int_equal(kbe_poison(type, 0) >> (8 * kbe_size(type)), 0);
    }
}

static void hash_sees_order_and_every_byte(void **state)
{
    (void)state;
    _Alignas(8) unsigned char x[43];
    for (int i = 0; i < 43; i++)
        x[i] = (unsigned char)(i * 7);
    uint64_t whole = kb_loop_hash(x, 43);
    for (int i = 0; i < 43; i++) {
        x[i] ^= 1;
        assert_true(kb_loop_hash(x, 43) != whole);
        x[i] ^= 1;
    }
    unsigned char word[8];
    memcpy(word, x, 8);
    memcpy(x, x + 8, 8);
    memcpy(x + 8, word, 8);
    assert_true(kb_loop_hash(x, 43) != whole);
    assert_true(kb_loop_hash(x, 42) != kb_loop_hash(x, 43));
}

// Any cutting into blocks covers every element once.
static void comparison_covers_all_sizes(void **state)
{
    (void)state;
    enum { MOST = 300000 };
    static float out[MOST];
    static double ref[MOST];
    struct kbe_rule rule = {
        .max_abs = 0.5, .max_rel = INFINITY, .max_ulp = INFINITY, .scaled = INFINITY, .group = 1, .dtype = KBE_F32};
    static const uint64_t sizes[] = {1, 127, 128, 129, 1024 * 128, 1024 * 128 + 1, 2 * 1024 * 128 - 1, MOST};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        struct kbe_part part;
        uint64_t n = sizes[k];
        out[n - 1] = 1;
        kb_loop_compare(out, &(struct kbe_wanted){ref, NULL, NULL}, n, &rule, &part);
        assert_int_equal(part.finite, n);
        assert_int_equal(part.mismatches, 1);
        assert_int_equal(part.first_bad, n - 1);
        out[n - 1] = 0;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantile_inverts_erfc),
        cmocka_unit_test(normal_has_its_moments),
        cmocka_unit_test(single_and_half_as_the_compiler_has_them),
        cmocka_unit_test(every_code_survives),
        cmocka_unit_test(integers_round_to_even_and_saturate),
        cmocka_unit_test(ulp_counts_steps),
        cmocka_unit_test(fills_are_what_they_say),
        cmocka_unit_test(neg_inf_rows_has_whole_rows_and_single_elements),
        cmocka_unit_test(poisons_are_two_and_recognizable),
        cmocka_unit_test(hash_sees_order_and_every_byte),
        cmocka_unit_test(comparison_covers_all_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
