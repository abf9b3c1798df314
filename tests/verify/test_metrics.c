// D1 and D2: what passes, what fails, and which metrics have no value. All pairs go through the loops as on a device.
#include "base/json.h"
#include "verify/loops.h"
#include "verify/metrics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct kb_tolerance exactly = {KB_TOLERANCE_EXACT, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
static const struct kb_tolerance automatic = {KB_TOLERANCE_AUTO, NAN, NAN, NAN, NAN, NAN, NAN, NAN};

struct verdict {
    struct kbe_part part;
    struct kb_metrics m;
    struct kb_judgement j;
    double margin;
    const char *no_margin;
};

static struct verdict compare(const struct kb_tolerance *t, enum kb_dtype dtype, double terms, uint64_t n,
                              uint64_t group, const void *out, const void *ref)
{
    struct verdict v;
    struct kb_bound bound;
    uint64_t groups = n ? (n + group - 1) / group : 0;
    double scale[64] = {0}, sum = 0;
    assert_true(groups <= 64);
    kb_bound_for(t, dtype, &(struct kb_sums){.terms = terms}, &bound);
    bound.rule.group = group;
    if (kb_dtype_is_float(dtype))
        kb_loop_group_scale(ref, n, group, scale);
    for (uint64_t g = 0; g < groups; g++)
        sum += scale[g] * scale[g];
    bound.rule.fallback = groups ? sqrt(sum / (double)groups) : 0;
    kb_loop_compare(out, &(struct kbe_wanted){ref, scale, NULL}, n, &bound.rule, &v.part);
    kb_metrics_of(&v.part, n, &v.m);
    kb_judge(&bound, &v.part, &v.m, n, &v.j);
    v.margin = kb_margin(&bound, &v.m, &v.part, &v.no_margin);
    return v;
}

static struct verdict compare32(uint64_t n, const float *out, const double *ref)
{
    return compare(&automatic, KB_F32, 1, n, n ? n : 1, out, ref);
}

enum { MANY = 393216 };

// D1: a softmax over very many columns, whose largest value is 4e-6.
static void zeros_never_pass(void **state)
{
    (void)state;
    static double ref[MANY];
    static uint64_t out[MANY];
    double sum = 0;
    for (int i = 0; i < MANY; i++)
        sum += ref[i] = exp(kbe_normal(kbe_unit(kbe_random(1, (uint64_t)i))));
    for (int i = 0; i < MANY; i++)
        ref[i] /= sum;
    for (int type = KB_F64; type <= KB_BF16; type++) {
        memset(out, 0, sizeof out);
        struct verdict zero = compare(&automatic, (enum kb_dtype)type, MANY, MANY, 65536, out, ref);
        assert_false(zero.j.pass);
        for (int i = 0; i < MANY; i++)
            kbe_store(out, kbe_size(type), (uint64_t)i, kbe_encode(type, ref[i]));
        struct verdict rounded = compare(&automatic, (enum kb_dtype)type, MANY, MANY, 65536, out, ref);
        if (!rounded.j.pass || !rounded.m.exact)
            fail_msg("%s: %s", kb_dtype_name((enum kb_dtype)type), rounded.j.reason);
    }
}

static void zeros_of_one_row_are_seen_beside_large_rows(void **state)
{
    (void)state;
    enum { ROW = 64 };
    double ref[4 * ROW];
    float out[4 * ROW];
    for (int i = 0; i < 4 * ROW; i++) {
        ref[i] = (i / ROW == 2 ? 1e-9 : 1.0) * (1 + i % 7);
        out[i] = i / ROW == 2 ? 0 : (float)ref[i];
    }
    assert_false(compare(&automatic, KB_F32, ROW, 4 * ROW, ROW, out, ref).j.pass);
    assert_true(
        compare(&automatic, KB_F32, ROW, 4 * ROW, 4 * ROW, out, ref).j.pass); // why rows have scales of their own
}

// A float sum in its worst usual order, one after the other, and with half the terms cancelling.
static void honest_sums_pass(void **state)
{
    (void)state;
    enum { TERMS = 100000, SUMS = 20 };
    for (int kind = 0; kind < 2; kind++) {
        double ref[SUMS];
        float out[SUMS];
        for (int s = 0; s < SUMS; s++) {
            double exact = 0;
            float sum = 0;
            for (int i = 0; i < TERMS; i++) {
                double z = kbe_normal(kbe_unit(kbe_random((uint64_t)s, (uint64_t)i)));
                float term = (float)(kind ? z : z * z);
                sum += term;
                exact += (double)term;
            }
            ref[s] = exact;
            out[s] = sum;
        }
        struct verdict v = compare(&automatic, KB_F32, TERMS, SUMS, SUMS, out, ref);
        if (!v.j.pass)
            fail_msg("kind %d: %s (scaled %g)", kind, v.j.reason, v.m.scaled);
    }
}

// Results in half precision where single is promised ride within a careless tolerance; not within this one.
static void half_precision_is_no_single(void **state)
{
    (void)state;
    enum { COUNT = 4096 };
    double ref[COUNT];
    float out[COUNT];
    for (int i = 0; i < COUNT; i++) {
        ref[i] = kbe_normal(kbe_unit(kbe_random(5, (uint64_t)i)));
        out[i] = (float)kbe_decode(KBE_F16, kbe_encode(KBE_F16, ref[i]));
    }
    for (double terms = 1; terms < 1e9; terms *= 10)
        assert_false(compare(&automatic, KB_F32, terms, COUNT, COUNT, out, ref).j.pass);
}

static void all_zero_reference_proves_nothing(void **state)
{
    (void)state;
    float zero[3] = {0}, tiny[3] = {0, 1e-20F, 0};
    double ref[3] = {0};
    struct verdict v = compare32(3, zero, ref);
    assert_true(v.j.pass);
    assert_non_null(strstr(v.j.reason, "constant (0), which proves nothing"));
    assert_true(isnan(v.m.cosine) && isnan(v.m.psnr_db) && isnan(v.m.max_rel));
    assert_string_equal(v.m.no_cosine, "both are zero");
    assert_string_equal(v.m.no_max_rel, "the reference is zero");
    assert_true(v.m.max_abs == 0 && v.m.exact);
    assert_true(compare32(3, tiny, ref).m.max_abs > 0); // absolute error where there is nothing to scale by
    float one[3] = {0, 1, 0};
    assert_false(compare32(3, one, ref).j.pass);
    double x[3] = {1, 2, 3};
    struct verdict w = compare32(3, zero, x);
    assert_false(w.j.pass);
    assert_string_equal(w.m.no_cosine, "the output is zero");
}

static void nan_table(void **state)
{
    (void)state;
    double inf = INFINITY;
    static const struct {
        const char *name;
        bool pass;
        uint64_t nonfinite, mismatches;
    } wanted[] = {{"NaN for a number", false, 1, 1}, {"number for NaN", false, 0, 1}, {"NaN for NaN", true, 0, 0},
                  {"inf for inf", true, 0, 0},       {"-inf for inf", false, 0, 1},   {"inf for a number", false, 1, 1},
                  {"number for inf", false, 0, 1},   {"NaN for inf", false, 0, 1},    {"inf for NaN", false, 0, 1}};
    double pairs[][2] = {{NAN, 1}, {1, NAN}, {NAN, NAN}, {inf, inf}, {-inf, inf},
                         {inf, 1}, {1, inf}, {NAN, inf}, {inf, NAN}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        float out[2] = {(float)pairs[i][0], 0.5F};
        double ref[2] = {pairs[i][1], 0.5};
        struct verdict v = compare32(2, out, ref);
        if (v.j.pass != wanted[i].pass || v.part.nonfinite != wanted[i].nonfinite ||
            v.part.mismatches != wanted[i].mismatches)
            fail_msg("%s: pass %d, nonfinite %llu, mismatches %llu", wanted[i].name, v.j.pass, v.part.nonfinite,
                     v.part.mismatches);
        assert_int_equal(v.part.first_bad, wanted[i].pass ? KBE_NO_INDEX : 0);
        assert_true(v.m.max_abs == 0); // what is no number is in no sum and no maximum
    }
}

static void all_nan_is_nothing_compared(void **state)
{
    (void)state;
    float out[2] = {NAN, NAN};
    double ref[2] = {NAN, NAN}, numbers[2] = {0, 0};
    assert_false(compare32(2, out, ref).j.pass);
    assert_int_equal(compare32(2, out, numbers).part.nonfinite, 2);
    struct verdict none = compare32(0, out, ref);
    assert_false(none.j.pass);
    assert_non_null(strstr(none.j.reason, "nothing compared"));
    assert_false(none.m.exact);
}

static void identical_is_exact(void **state)
{
    (void)state;
    float x[3] = {1, -2, 3};
    double ref[3] = {1, -2, 3};
    struct verdict v = compare32(3, x, ref);
    assert_true(v.j.pass && v.m.exact);
    assert_string_equal(v.j.reason, "");
    assert_true(v.m.rmse == 0 && v.m.cosine > 0.999999);
    assert_string_equal(v.m.no_psnr, "exact");
    cJSON *json = kb_metrics_json(&v.m, &v.part);
    assert_true(cJSON_IsNull(kb_json_get(json, "psnr_db")));
    assert_string_equal(kb_json_text(json, "psnr_db_reason", ""), "exact");
    assert_true(kb_json_bool(json, "exact", false));
    cJSON_Delete(json);
}

static void signed_zero(void **state)
{
    (void)state;
    float out[2] = {-0.0F, 1};
    double ref[2] = {0.0, 1};
    struct kb_tolerance exact = automatic;
    exact.kind = KB_TOLERANCE_EXACT;
    struct verdict v = compare32(2, out, ref);
    assert_true(v.j.pass);
    assert_true(v.m.max_ulp == 0 && v.m.max_abs == 0);
    assert_false(compare(&exact, KB_F32, 1, 2, 2, out, ref).j.pass); // bit for bit
}

static void integers_are_equal_or_wrong(void **state)
{
    (void)state;
    int64_t a[2] = {INT64_MAX, INT64_MIN}, b[2] = {INT64_MAX - 1, INT64_MIN};
    uint8_t c[2] = {255, 0}, d[2] = {0, 0};
    struct verdict v = compare(&automatic, KB_I64, 1, 2, 2, a, b);
    assert_false(v.j.pass);
    assert_true(v.m.max_abs == 1 && v.m.max_ulp == 1); // not 0, as the difference of doubles would be
    assert_true(compare(&automatic, KB_I64, 1, 2, 2, a, a).j.pass);
    assert_true(compare(&automatic, KB_U8, 1, 2, 2, c, d).m.max_abs == 255);
    struct kb_tolerance one = automatic;
    one.kind = KB_TOLERANCE_BOUNDS;
    one.max_abs = 1;
    assert_true(compare(&one, KB_I64, 1, 2, 2, a, b).j.pass);
}

static void bounds_of_the_bench_decide(void **state)
{
    (void)state;
    float out[4] = {1, 2, 3, 4.25F};
    double ref[4] = {1, 2, 3, 4};
    struct {
        double value;
        size_t at;
        bool pass;
    } cases[] = {
        {0.3, offsetof(struct kb_tolerance, max_abs), true},  {0.2, offsetof(struct kb_tolerance, max_abs), false},
        {0.07, offsetof(struct kb_tolerance, max_rel), true}, {0.06, offsetof(struct kb_tolerance, max_rel), false},
        {0.13, offsetof(struct kb_tolerance, rmse), true},    {0.12, offsetof(struct kb_tolerance, rmse), false},
        {1e9, offsetof(struct kb_tolerance, max_ulp), true},  {1000, offsetof(struct kb_tolerance, max_ulp), false},
        {30, offsetof(struct kb_tolerance, psnr_db), true},   {31, offsetof(struct kb_tolerance, psnr_db), false},
        {0.999, offsetof(struct kb_tolerance, cosine), true}, {0.99999, offsetof(struct kb_tolerance, cosine), false},
        {0.04, offsetof(struct kb_tolerance, scaled), true},  {0.03, offsetof(struct kb_tolerance, scaled), false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kb_tolerance t = automatic;
        t.kind = KB_TOLERANCE_BOUNDS;
        memcpy((char *)&t + cases[i].at, &cases[i].value, sizeof(double));
        struct verdict v = compare(&t, KB_F32, 1, 4, 4, out, ref);
        if (v.j.pass != cases[i].pass)
            fail_msg("bound %zu (%g): pass %d, %s", i, cases[i].value, v.j.pass, v.j.reason);
        assert_true(v.margin >= 0 && (v.margin <= 1) == cases[i].pass);
    }
}

// Beyond the range of a narrow type the right result is what rounding gives.
static void overflow_of_the_output_type(void **state)
{
    (void)state;
    double ref[3] = {1e6, 2, 3};
    uint16_t half[3];
    uint8_t e4m3[3];
    for (int i = 0; i < 3; i++) {
        half[i] = (uint16_t)kbe_encode(KBE_F16, ref[i]);
        e4m3[i] = (uint8_t)kbe_encode(KBE_E4M3, ref[i]);
    }
    assert_true(compare(&automatic, KB_F16, 1, 3, 3, half, ref).j.pass);
    half[0] = 0x7bff; // a conversion that saturates
    assert_true(compare(&automatic, KB_F16, 1, 3, 3, half, ref).j.pass);
    assert_false(compare(&exactly, KB_F16, 1, 3, 3, half, ref).j.pass);
    half[0] = 0x7bfe; // neither infinity nor the largest number
    assert_false(compare(&automatic, KB_F16, 1, 3, 3, half, ref).j.pass);
    half[0] = 0xfbff;
    assert_false(compare(&automatic, KB_F16, 1, 3, 3, half, ref).j.pass);
    e4m3[0] = 0x7f;
    assert_int_equal(compare(&automatic, KB_E4M3, 1, 3, 3, e4m3, ref).part.nonfinite, 0);
    e4m3[0] = 0x7e; // 448
    assert_true(compare(&automatic, KB_E4M3, 1, 3, 3, e4m3, ref).j.pass);
}

static void margins(void **state)
{
    (void)state;
    double ref[4] = {1, 2, -3, 4};
    float out[4] = {1, 2, -3, 4};
    struct verdict v = compare32(4, out, ref);
    assert_true(v.margin == 0 && !v.no_margin);
    out[3] = nextafterf(4, 5);
    v = compare32(4, out, ref);
    assert_true(v.j.pass && v.margin > 0.001 && v.margin < 0.2);
    out[3] = 5;
    v = compare32(4, out, ref);
    assert_true(!v.j.pass && v.margin > 1);
    const struct kb_tolerance bits = {KB_TOLERANCE_EXACT, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    v = compare(&bits, KB_F32, 1, 4, 4, out, ref);
    assert_true(isnan(v.margin));
    assert_string_equal(v.no_margin, "bit for bit");
}

static void map_digits(void **state)
{
    (void)state;
    assert_int_equal(kb_map_digit(0, 10), '0');
    assert_int_equal(kb_map_digit(1, 1000000), '1');
    assert_int_equal(kb_map_digit(999999, 1000000), 'e');
    assert_int_equal(kb_map_digit(10, 10), 'f');
}

static void groups_follow_rows(void **state)
{
    (void)state;
    assert_int_equal(kb_scale_group(2, (int64_t[]){100, 64}), 64);
    assert_int_equal(kb_scale_group(3, (int64_t[]){100, 10, 4}), 40);
    assert_int_equal(kb_scale_group(1, (int64_t[]){5}), 5);
    assert_int_equal(kb_scale_group(1, (int64_t[]){1 << 20}), 65536);
    assert_int_equal(kb_scale_group(1, (int64_t[]){0}), 1);
    assert_true(kb_terms(2, (int64_t[]){6, 6}, (int64_t[]){3, 2}, 4) == 3);
    assert_true(kb_terms(1, (int64_t[]){1000}, (int64_t[]){10}, 10) == 100);
    assert_true(kb_terms(0, NULL, NULL, 10) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeros_never_pass),
        cmocka_unit_test(zeros_of_one_row_are_seen_beside_large_rows),
        cmocka_unit_test(honest_sums_pass),
        cmocka_unit_test(half_precision_is_no_single),
        cmocka_unit_test(all_zero_reference_proves_nothing),
        cmocka_unit_test(nan_table),
        cmocka_unit_test(all_nan_is_nothing_compared),
        cmocka_unit_test(identical_is_exact),
        cmocka_unit_test(signed_zero),
        cmocka_unit_test(integers_are_equal_or_wrong),
        cmocka_unit_test(bounds_of_the_bench_decide),
        cmocka_unit_test(overflow_of_the_output_type),
        cmocka_unit_test(margins),
        cmocka_unit_test(map_digits),
        cmocka_unit_test(groups_follow_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
