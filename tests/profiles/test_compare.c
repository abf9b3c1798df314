// Paired verdicts on streams as GPUs give them, in the order in which they are taken (A B, B A): how often identical
// code is called different, and how often 1% is found. Fixed seeds.
#include "profiles/order.h"
#include "profiles/stats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

enum { MOST_ROUNDS = 1200, RUNS = 400 };
static const double SAME = 0.003;

struct stream {
    const char *name;
    double us;                      // of B
    double noise;                   // of each sample by itself, a share
    double slow_noise, persistence; // AR(1) of all samples alike, and its coefficient
    double drift;                   // over the whole run, a share
    double mode, switching;         // a second clock, slower by this share; probability of a change at each sample
    double hiccups, hiccup;         // probability, and their size in us
    double second;                  // what the second of a round is faster by, a share
    double buffers;                 // what the first outputs are faster by; exchanged every 3 rounds
    double tick_us;                 // resolution of the clock
};
static const struct stream streams[] = {
    {.name = "quiet", .us = 36, .noise = 0.003},
    {.name = "an H200's copy", .us = 35.4, .noise = 0.027, .tick_us = 0.032},
    {.name = "resolution", .us = 6, .noise = 0.002, .tick_us = 0.032},
    {.name = "drift", .us = 36, .noise = 0.006, .drift = 0.03, .tick_us = 0.032},
    {.name = "correlated", .us = 36, .noise = 0.004, .slow_noise = 0.01, .persistence = 0.98, .tick_us = 0.032},
    {.name = "quickly correlated", .us = 36, .noise = 0.004, .slow_noise = 0.01, .persistence = 0.6},
    {.name = "two clocks", .us = 36, .noise = 0.004, .mode = 0.06, .switching = 0.02, .tick_us = 0.032},
    {.name = "two clocks, changing often", .us = 36, .noise = 0.004, .mode = 0.06, .switching = 0.4},
    {.name = "hiccups", .us = 36, .noise = 0.006, .hiccups = 0.01, .hiccup = 3000, .tick_us = 0.032},
    {.name = "many small hiccups", .us = 36, .noise = 0.006, .hiccups = 0.1, .hiccup = 8},
    {.name = "the second is faster", .us = 36, .noise = 0.004, .second = 0.01},
    {.name = "one output is faster", .us = 36, .noise = 0.004, .buffers = 0.003},
    {.name = "all at once",
     .us = 40,
     .noise = 0.01,
     .slow_noise = 0.01,
     .persistence = 0.9,
     .drift = 0.02,
     .mode = 0.04,
     .switching = 0.02,
     .hiccups = 0.01,
     .hiccup = 500,
     .second = 0.005,
     .buffers = 0.002,
     .tick_us = 0.032},
};
enum { STREAMS = sizeof streams / sizeof streams[0] };

static uint64_t generator;

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

struct machine { // its state between samples
    double level;
    bool slow;
};

static double sample(const struct stream *s, struct machine *m, double us, double progress)
{
    m->level = s->persistence * m->level + sqrt(1 - s->persistence * s->persistence) * s->slow_noise * normal();
    if (uniform() < s->switching)
        m->slow = !m->slow;
    us *= (1 + m->level) * (1 + s->drift * progress) * (m->slow ? 1 + s->mode : 1) * (1 + s->noise * normal());
    if (uniform() < s->hiccups)
        us += s->hiccup * (0.5 + uniform());
    return s->tick_us > 0 ? s->tick_us * floor(us / s->tick_us + uniform()) : us;
}

static void draw(const struct stream *s, double ratio, double *a, double *b, int rounds)
{
    struct machine m = {.level = s->slow_noise * normal(), .slow = uniform() < 0.5};
    for (int i = 0; i < rounds; i++) {
        bool mirrored = i % 2, exchanged = i / 6 % 2;
        double first = mirrored ? 1 : ratio, second = mirrored ? ratio : 1;
        double out_a = exchanged ? 1 : 1 - s->buffers, out_b = exchanged ? 1 - s->buffers : 1;
        double x = sample(s, &m, s->us * first * (mirrored ? out_b : out_a), (double)i / rounds);
        double y = sample(s, &m, s->us * second * (1 - s->second) * (mirrored ? out_a : out_b), (i + 0.5) / rounds);
        a[i] = mirrored ? y : x;
        b[i] = mirrored ? x : y;
    }
}

struct tally {
    int verdicts[4], missed; // missed: the interval does not hold the true ratio
    double half_width;       // mean
};

static struct tally judge(const struct stream *s, double ratio, int rounds, int runs, double noise)
{
    static double a[MOST_ROUNDS], b[MOST_ROUNDS];
    struct tally t = {0};
    generator = 88172645463325252u;
    for (int run = 0; run < runs; run++) {
        struct kb_comparison c;
        draw(s, ratio, a, b, rounds);
        kb_compare_paired(a, b, rounds, noise, SAME, &c);
        t.verdicts[c.verdict]++;
        t.missed += !(c.low <= ratio && ratio <= c.high);
        t.half_width += (c.high - c.low) / 2 / runs;
    }
    return t;
}

static void identical_code_is_called_different_at_most_once_in_a_hundred(void **state)
{
    (void)state;
    static const int rounds[] = {10, 31, 60, 150, 600};
    int all = 0;
    for (int i = 0; i < STREAMS; i++) {
        int wrong = 0;
        for (size_t k = 0; k < sizeof rounds / sizeof rounds[0]; k++) {
            struct tally t = judge(&streams[i], 1, rounds[k], RUNS, 0);
            int here = t.verdicts[KB_VERDICT_FASTER] + t.verdicts[KB_VERDICT_SLOWER];
            wrong += here;
            print_message("%-28s %4d rounds: %d false, %d SAME of %d; ±%.2f%%, not covered %d\n", streams[i].name,
                          rounds[k], here, t.verdicts[KB_VERDICT_SAME], RUNS, 100 * t.half_width, t.missed);
        }
        if (wrong > 0.02 * RUNS * 5) // one stream may be unlucky
            fail_msg("%s: %d of %d called different", streams[i].name, wrong, RUNS * 5);
        all += wrong;
    }
    print_message("in all %d of %d\n", all, RUNS * 5 * STREAMS);
    assert_true(all <= 0.01 * RUNS * 5 * STREAMS);
}

static void one_percent_is_found_in_a_run_of_300_ms(void **state)
{
    (void)state;
    for (int i = 0; i < STREAMS; i++) { // 600 rounds of two samples of 36 us with a flush each
        struct tally t = judge(&streams[i], 1.01, 600, RUNS, 0);
        print_message("%-28s %d SLOWER of %d; ±%.2f%%\n", streams[i].name, t.verdicts[KB_VERDICT_SLOWER], RUNS,
                      100 * t.half_width);
        assert_int_equal(t.verdicts[KB_VERDICT_FASTER], 0);
        if (t.verdicts[KB_VERDICT_SLOWER] < 0.98 * RUNS)
            fail_msg("%s: found in only %d of %d", streams[i].name, t.verdicts[KB_VERDICT_SLOWER], RUNS);
    }
}

static void same_is_said_of_quiet_streams_and_not_of_loud_ones(void **state)
{
    (void)state;
    struct tally quiet = judge(&streams[0], 1, 300, RUNS, 0), loud = judge(&streams[1], 1, 60, RUNS, 0);
    assert_true(quiet.verdicts[KB_VERDICT_SAME] > 0.98 * RUNS);
    assert_int_equal(loud.verdicts[KB_VERDICT_SAME], 0);
    struct tally half = judge(&streams[0], 1.006, 300, RUNS, 0); // beyond what counts as the same
    assert_int_equal(half.verdicts[KB_VERDICT_SAME], 0);
}

// A difference that is there, but no larger than what identical code shows on this machine.
static void a_known_floor_withholds_small_differences(void **state)
{
    (void)state;
    struct tally t = judge(&streams[0], 1.005, 600, 100, 0), floor = judge(&streams[0], 1.005, 600, 100, 0.008);
    assert_int_equal(t.verdicts[KB_VERDICT_SLOWER], 100);
    assert_int_equal(floor.verdicts[KB_VERDICT_UNSURE], 100);
    t = judge(&streams[0], 1.012, 600, 100, 0.008); // the floor is not added to the interval
    assert_int_equal(t.verdicts[KB_VERDICT_SLOWER], 100);
}

static void differences_below_the_clock_tick_are_resolved(void **state)
{
    (void)state;
    double a[600], b[600];
    struct kb_comparison c;
    const struct stream *s = &streams[2]; // ticks of 0.5% of the time
    generator = 5;
    draw(s, 1.0025, a, b, 600);
    kb_compare_paired(a, b, 600, 0, 0, &c);
    assert_true(c.low > 1.0015 && c.high < 1.0035);
}

static void throttled_rounds_may_be_missing_in_a_row(void **state)
{
    (void)state;
    double a[300], b[300];
    struct kb_comparison c;
    generator = 7;
    draw(&streams[0], 0.98, a, b, 300);
    for (int i = 0; i < 200; i++)
        a[i] = b[i] = NAN;
    kb_compare_paired(a, b, 300, 0, SAME, &c);
    assert_int_equal(c.verdict, KB_VERDICT_FASTER);
    for (int i = 200; i < 292; i++)
        b[i] = NAN;
    kb_compare_paired(a, b, 300, 0, SAME, &c); // eight rounds are left
    assert_int_equal(c.verdict, KB_VERDICT_FASTER);
    b[299] = 0;
    kb_compare_paired(a, b, 300, 0, SAME, &c);
    assert_int_equal(c.verdict, KB_VERDICT_UNSURE);
}

static void signed_ranks_match_the_tables(void **state)
{
    (void)state;
    // Critical values of Wilcoxon's test, two-sided 1%: the largest W that is significant.
    static const int table[][2] = {{8, 0},   {9, 1},   {10, 3},   {11, 5},   {12, 7},  {15, 15},
                                   {20, 37}, {25, 68}, {30, 109}, {40, 220}, {50, 373}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        assert_int_equal(kb_signed_rank(table[i][0], 0.005), table[i][1] + 1);
    assert_int_equal(kb_signed_rank(7, 0.005), 0);
}

static void the_noise_floor_holds_99_percent_of_controls(void **state)
{
    (void)state;
    double spreads[20];
    int within = 0;
    generator = 11;
    assert_true(isnan(kb_noise_floor(NULL, 0)));
    for (int i = 0; i < 4; i++)
        spreads[i] = 0.001;
    assert_true(isnan(kb_noise_floor(spreads, 4)));
    spreads[4] = 0.5; // one disturbed control
    assert_true(fabs(kb_noise_floor(spreads, 5) - 0.00382) < 1e-5);
    for (int run = 0; run < 2000; run++) {
        for (int i = 0; i < 20; i++)
            spreads[i] = fabs(0.001 * normal());
        within += fabs(0.001 * normal()) <= kb_noise_floor(spreads, 20);
    }
    assert_true(within > 1940);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identical_code_is_called_different_at_most_once_in_a_hundred),
        cmocka_unit_test(one_percent_is_found_in_a_run_of_300_ms),
        cmocka_unit_test(same_is_said_of_quiet_streams_and_not_of_loud_ones),
        cmocka_unit_test(a_known_floor_withholds_small_differences),
        cmocka_unit_test(differences_below_the_clock_tick_are_resolved),
        cmocka_unit_test(throttled_rounds_may_be_missing_in_a_row),
        cmocka_unit_test(signed_ranks_match_the_tables),
        cmocka_unit_test(the_noise_floor_holds_99_percent_of_controls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
