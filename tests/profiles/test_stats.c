// E2: the statistics on streams as they really come.
#include "profiles/order.h"
#include "profiles/stats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

enum { MOST = 4000 };

static uint64_t generator = 88172645463325252u;

static double uniform(void)
{
    generator ^= generator << 13;
    generator ^= generator >> 7;
    generator ^= generator << 17;
    return (double)(generator >> 11) / 9007199254740992.0;
}

static double normal(void)
{
    double u = uniform(), v = uniform();
    return sqrt(-2 * log(u > 0 ? u : 1e-300)) * cos(6.283185307179586 * v);
}

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%.12g is not within %g of %.12g", a, tolerance, b);
}

static void ranks_match_the_binomial_tables(void **state)
{
    (void)state;
    // Largest k with P(X <= k-1) <= 2.5%, X binomial(n, 1/2).
    static const int table[][2] = {{5, 0},  {6, 1},  {8, 1},   {9, 2},   {10, 2},
                                   {15, 4}, {20, 6}, {30, 10}, {50, 18}, {100, 40}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        assert_int_equal(kb_median_rank(table[i][0], 0.95), table[i][1]);
    assert_int_equal(kb_median_rank(7, 0.99), 0);
    assert_int_equal(kb_median_rank(8, 0.99), 1);
    int exact = kb_median_rank(999, 0.95), approximated = kb_median_rank(1000, 0.95);
    assert_true(approximated - exact >= 0 && approximated - exact <= 1);
}

static void few_samples(void **state)
{
    (void)state;
    struct kb_summary s;
    const double three[] = {12, 10, 11};
    kb_summarize(NULL, 0, &s);
    assert_int_equal(s.samples, 0);
    assert_true(isnan(s.median) && isnan(s.low) && isnan(s.high));
    kb_summarize(three, 1, &s);
    assert_int_equal(s.samples, 1);
    assert_true(s.median == 12 && s.low == 12 && s.high == 12);
    kb_summarize(three, 3, &s);
    assert_true(s.median == 11 && s.low == 10 && s.high == 12);
    assert_false(s.drifting);
    kb_summarize(three, 2, &s);
    assert_true(s.median == 11);
}

static void what_is_no_time_is_ignored(void **state)
{
    (void)state;
    struct kb_summary s;
    const double mixed[] = {NAN, 10, -1, 11, INFINITY, 12, -INFINITY};
    kb_summarize(mixed, 7, &s);
    assert_int_equal(s.samples, 3);
    assert_true(s.median == 11 && s.min == 10 && s.max == 12);
    const double none[] = {NAN, -3};
    kb_summarize(none, 2, &s);
    assert_int_equal(s.samples, 0);
    assert_true(isnan(s.median));
}

static void equal_samples_and_zeros(void **state)
{
    (void)state;
    double samples[100];
    struct kb_summary s;
    struct kb_histogram h;
    for (int zero = 0; zero < 2; zero++) {
        for (int i = 0; i < 100; i++)
            samples[i] = zero ? 0 : 1.5;
        kb_summarize(samples, 100, &s);
        assert_int_equal(s.samples, 100);
        assert_true(s.low == samples[0] && s.high == samples[0] && s.median == samples[0]);
        assert_int_equal(s.outliers, 0);
        assert_false(s.drifting);
        kb_histogram_of(samples, 100, &h);
        assert_int_equal(h.counts[0], 100);
        assert_true(h.high > h.low);
    }
    struct kb_summary other = s;
    struct kb_comparison c;
    kb_compare(&s, &other, 0.003, &c); // no ratio of zeros, no infinite speed-up
    assert_int_equal(c.verdict, KB_VERDICT_UNSURE);
    assert_true(isnan(c.ratio));
    kb_compare_paired(samples, samples, 100, 0, 0.003, &c);
    assert_int_equal(c.verdict, KB_VERDICT_UNSURE);
    assert_true(isnan(c.ratio));
}

static void one_outlier_is_counted_and_kept(void **state)
{
    (void)state;
    double samples[100];
    struct kb_summary s;
    struct kb_histogram h;
    for (int i = 0; i < 100; i++)
        samples[i] = 36 + 0.1 * normal();
    samples[41] = 3000;
    kb_summarize(samples, 100, &s);
    assert_int_equal(s.outliers, 1);
    assert_int_equal(s.samples, 100);
    assert_true(s.max == 3000);
    assert_near(s.median, 36, 0.1);
    assert_true(s.high < 36.2);
    kb_histogram_of(samples, 100, &h);
    assert_true(h.high < 40);
    assert_true(h.counts[KB_HISTOGRAM_BINS - 1] >= 1);
    int sum = 0;
    for (int i = 0; i < KB_HISTOGRAM_BINS; i++)
        sum += h.counts[i];
    assert_int_equal(sum, 100);
    for (int i = 0; i < 100; i++)
        samples[i] = 2;
    samples[7] = 3000; // also where the spread of all others is 0
    kb_summarize(samples, 100, &s);
    assert_int_equal(s.outliers, 1);
}

static void quantised_samples(void **state)
{
    (void)state;
    double samples[200];
    struct kb_summary s;
    for (int i = 0; i < 200; i++)
        samples[i] = floor((1.6 + 0.2 * normal()) / 0.5) * 0.5; // 0.5 us steps
    kb_summarize(samples, 200, &s);
    assert_true(s.median == 1 || s.median == 1.5);
    assert_true(s.low <= s.median && s.median <= s.high);
    assert_false(s.drifting);
}

static void two_modes(void **state)
{
    (void)state;
    double samples[100];
    struct kb_summary s;
    for (int i = 0; i < 100; i++)
        samples[i] = i % 2 ? 20 : 10; // throttled every second time
    kb_summarize(samples, 100, &s);
    assert_true(s.low == 10 && s.high == 20);
    assert_int_equal(s.outliers, 0);
    assert_false(s.drifting);
    for (int i = 0; i < 100; i++)
        samples[i] = i < 60 ? 10 + 0.05 * normal() : 20 + 0.05 * normal(); // throttled from some time on
    kb_summarize(samples, 100, &s);
    assert_true(s.drifting);
}

static void drift_is_seen_and_noise_is_not(void **state)
{
    (void)state;
    double samples[90];
    struct kb_summary s;
    for (int i = 0; i < 90; i++)
        samples[i] = 50 * (1 + 0.0005 * i) + 0.1 * normal();
    kb_summarize(samples, 90, &s);
    assert_true(s.drifting);
    int seen = 0;
    for (int round = 0; round < 500; round++) {
        for (int i = 0; i < 90; i++)
            samples[i] = 50 + normal();
        kb_summarize(samples, 90, &s);
        seen += s.drifting;
    }
    assert_true(seen <= 15); // 3%
}

static void intervals_cover_the_median(void **state)
{
    (void)state;
    static const int sizes[] = {6, 10, 25, 101, 400};
    double samples[400];
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        int inside = 0;
        for (int round = 0; round < 1000; round++) {
            struct kb_summary s;
            for (int i = 0; i < sizes[k]; i++)
                samples[i] = exp(normal()); // skewed; its median is 1
            kb_summarize(samples, sizes[k], &s);
            inside += s.low <= 1 && 1 <= s.high;
        }
        if (inside < 930)
            fail_msg("only %d of 1000 intervals of %d samples hold the median", inside, sizes[k]);
    }
}

static void many_samples(void **state)
{
    (void)state;
    static double samples[MOST];
    struct kb_summary s;
    for (int i = 0; i < MOST; i++)
        samples[i] = 100 + normal();
    kb_summarize(samples, MOST, &s);
    assert_near(s.median, 100, 0.1);
    assert_true(s.high - s.low < 0.2 && s.high > s.low);
}

static struct kb_summary summary(int samples, double low, double median, double high)
{
    return (struct kb_summary){.samples = samples, .low = low, .median = median, .high = high};
}

static void unpaired_verdicts(void **state)
{
    (void)state;
    static const struct {
        struct kb_summary a, b;
        enum kb_verdict verdict;
    } rows[] = {
        {{.samples = 20, .low = 9, .median = 10, .high = 11},
         {.samples = 20, .low = 10.5, .median = 12, .high = 13},
         KB_VERDICT_UNSURE},
        {{.samples = 20, .low = 9, .median = 9.1, .high = 9.2},
         {.samples = 20, .low = 10, .median = 10.1, .high = 11},
         KB_VERDICT_FASTER},
        {{.samples = 20, .low = 12, .median = 12.1, .high = 12.2},
         {.samples = 20, .low = 10, .median = 10.1, .high = 11},
         KB_VERDICT_SLOWER},
        {{.samples = 20, .low = 10, .median = 10, .high = 10.01},
         {.samples = 20, .low = 10.01, .median = 10.02, .high = 10.02},
         KB_VERDICT_SAME},
        {{.samples = 20, .low = 9.5, .median = 10, .high = 10.5},
         {.samples = 20, .low = 9.5, .median = 10, .high = 10.5},
         KB_VERDICT_UNSURE}, // equal, but too wide to say so
    };
    struct kb_comparison c;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        kb_compare(&rows[i].a, &rows[i].b, 0.003, &c);
        assert_int_equal(c.verdict, rows[i].verdict);
        assert_false(c.paired);
        assert_true(c.low <= c.ratio && c.ratio <= c.high);
    }
    struct kb_summary few = summary(3, 9, 9.1, 9.2), many = summary(20, 10, 10.1, 11), none;
    kb_compare(&few, &many, 0.003, &c);
    assert_int_equal(c.verdict, KB_VERDICT_UNSURE); // disjoint, but three samples prove nothing
    kb_summarize(NULL, 0, &none);
    kb_compare(&none, &many, 0.003, &c);
    assert_int_equal(c.verdict, KB_VERDICT_UNSURE);
    assert_string_equal(kb_verdict_name(KB_VERDICT_FASTER), "FASTER");
    assert_string_equal(kb_verdict_name((enum kb_verdict)77), "UNSURE");
}

// Pairs like those of two versions on one GPU: common drift, noise of 0.6%, now and then a hiccup on one side.
static void make_pairs(double *a, double *b, int n, double ratio)
{
    double level = 36 * (1 + 0.01 * (uniform() - 0.5)), drift = 0.02 * (uniform() - 0.5);
    for (int i = 0; i < n; i++) {
        double common = level * (1 + drift * i / n + 0.003 * normal());
        a[i] = common * ratio * (1 + 0.006 * normal()) * (uniform() < 0.02 ? 1.5 : 1);
        b[i] = common * (1 + 0.006 * normal()) * (uniform() < 0.02 ? 1.5 : 1);
    }
}

static void identical_code_is_not_called_faster(void **state)
{
    (void)state;
    static const int sizes[] = {8, 10, 40, 200};
    double a[200], b[200];
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        int wrong = 0;
        for (int round = 0; round < 2000; round++) {
            struct kb_comparison c;
            make_pairs(a, b, sizes[k], 1);
            kb_compare_paired(a, b, sizes[k], 0, 0.003, &c);
            wrong += c.verdict == KB_VERDICT_FASTER || c.verdict == KB_VERDICT_SLOWER;
            assert_true(c.paired);
        }
        if (wrong > 30)
            fail_msg("%d of 2000 comparisons of identical code (%d pairs) claim a difference", wrong, sizes[k]);
    }
}

static void one_percent_is_found(void **state)
{
    (void)state;
    double a[60], b[60];
    int faster = 0, slower = 0;
    for (int round = 0; round < 500; round++) {
        struct kb_comparison c;
        make_pairs(a, b, 60, 0.99);
        kb_compare_paired(a, b, 60, 0, 0.003, &c);
        faster += c.verdict == KB_VERDICT_FASTER;
        slower += c.verdict == KB_VERDICT_SLOWER;
        assert_near(c.ratio, 0.99, 0.01);
    }
    assert_int_equal(slower, 0);
    assert_true(faster > 450);
}

static void known_noise_withholds_a_verdict(void **state)
{
    (void)state;
    double a[60], b[60];
    struct kb_comparison c;
    make_pairs(a, b, 60, 0.98);
    kb_compare_paired(a, b, 60, 0, 0.003, &c);
    assert_int_equal(c.verdict, KB_VERDICT_FASTER);
    kb_compare_paired(a, b, 60, 0.03, 0.003, &c);
    assert_int_equal(c.verdict, KB_VERDICT_UNSURE);
    kb_compare_paired(b, a, 60, NAN, 0.003, &c);
    assert_int_equal(c.verdict, KB_VERDICT_SLOWER);
}

static void pairs_with_a_lost_side_are_left_out(void **state)
{
    (void)state;
    double a[20], b[20];
    struct kb_comparison c;
    for (int i = 0; i < 20; i++) {
        a[i] = i % 2 ? NAN : 9;
        b[i] = i == 0 ? 0 : 10;
    }
    kb_compare_paired(a, b, 20, 0, 0.003, &c); // nine whole pairs
    assert_near(c.ratio, 0.9, 1e-12);
    assert_int_equal(c.verdict, KB_VERDICT_FASTER);
    kb_compare_paired(a, b, 14, 0, 0.003, &c); // six
    assert_int_equal(c.verdict, KB_VERDICT_UNSURE);
    kb_compare_paired(a, b, 0, 0, 0.003, &c);
    assert_true(isnan(c.ratio) && isnan(c.low));
}

static void same_is_said_only_where_it_is_known(void **state)
{
    (void)state;
    double a[100], b[100];
    struct kb_comparison c;
    for (int i = 0; i < 100; i++)
        a[i] = b[i] = 1.5; // a coarse clock
    kb_compare_paired(a, b, 100, 0, 0.003, &c);
    assert_int_equal(c.verdict, KB_VERDICT_SAME);
    for (int i = 0; i < 100; i++) {
        a[i] = 36 * (1 + 0.001 * normal());
        b[i] = 36 * (1 + 0.001 * normal());
    }
    kb_compare_paired(a, b, 100, 0, 0.003, &c);
    assert_int_equal(c.verdict, KB_VERDICT_SAME);
    for (int i = 0; i < 100; i++)
        a[i] = 36 * (1 + 0.1 * normal());
    kb_compare_paired(a, b, 100, 0, 0.003, &c);
    assert_int_equal(c.verdict, KB_VERDICT_UNSURE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_match_the_binomial_tables),
        cmocka_unit_test(few_samples),
        cmocka_unit_test(what_is_no_time_is_ignored),
        cmocka_unit_test(equal_samples_and_zeros),
        cmocka_unit_test(one_outlier_is_counted_and_kept),
        cmocka_unit_test(quantised_samples),
        cmocka_unit_test(two_modes),
        cmocka_unit_test(drift_is_seen_and_noise_is_not),
        cmocka_unit_test(intervals_cover_the_median),
        cmocka_unit_test(many_samples),
        cmocka_unit_test(unpaired_verdicts),
        cmocka_unit_test(identical_code_is_not_called_faster),
        cmocka_unit_test(one_percent_is_found),
        cmocka_unit_test(known_noise_withholds_a_verdict),
        cmocka_unit_test(pairs_with_a_lost_side_are_left_out),
        cmocka_unit_test(same_is_said_only_where_it_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
