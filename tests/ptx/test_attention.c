// A fast attention kernel, as people write it (tests/ptx/practice/attention.cu), against sums in double.
#include "support_cpu.h"
#include "support_formats.h"

#include "base/file.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 192, D = 64 };

static double half(const uint16_t *p, int i)
{
    return format_value(p[i], 5, 10, true);
}

static void attend(const uint16_t *q, const uint16_t *k, const uint16_t *v, int row, double *out)
{
    double score[N], most = -INFINITY, total = 0;
    for (int j = 0; j < N; j++) {
        score[j] = 0;
        for (int d = 0; d < D; d++)
            score[j] += half(q, row * D + d) * half(k, j * D + d) / 8;
        most = fmax(most, score[j]);
    }
    memset(out, 0, D * sizeof *out);
    for (int j = 0; j < N; j++)
        total += score[j] = exp(score[j] - most);
    for (int j = 0; j < N; j++)
        for (int d = 0; d < D; d++)
            out[d] += score[j] / total * half(v, j * D + d);
}

static char *source(void)
{
    char *text = NULL;
    size_t size;
    struct kb_error e;
    assert_int_equal(kb_file_read(KB_SOURCE_DIR "/tests/ptx/practice/attention.cu", 1 << 20, &text, &size, &e), 0);
    return text;
}

static void run(const char *level)
{
    struct cpu c;
    cpu_open(&c, level);
    char *text = source();
    char *ptx = cuda_to_ptx(text, NULL);
    free(text);
    if (!ptx) {
        cpu_close(&c);
        skip();
    }
    cpu_load(&c, ptx);
    free(ptx);
    uint16_t *in[3], *o;
    const char *const names[] = {"q", "k", "v"};
    uint64_t at[4];
    int n = N;
    srandom(3);
    for (int i = 0; i < 3; i++) {
        in[i] = cpu_buffer(&c, names[i], KB_F16, N * D, NULL);
        at[i] = cpu_address(&c, i);
        for (int k = 0; k < N * D; k++)
            in[i][k] = (uint16_t)nearest_bits((double)(random() % 4001 - 2000) / 1000, 5, 10, true, false);
    }
    o = cpu_buffer(&c, "o", KB_F16, N * D, NULL);
    at[3] = cpu_address(&c, 3);
    assert_int_equal(c.device->ops->undefined(c.device, at[3], N * D * 2, &c.error), 0);
    cpu_run(&c, "attention", N / 64, 128, 100 << 10, &at[0], &at[1], &at[2], &at[3], &n, NULL);
    double want[D], worst = 0;
    for (int row = 0; row < N; row++) {
        attend(in[0], in[1], in[2], row, want);
        for (int d = 0; d < D; d++)
            worst = fmax(worst, fabs(half(o, row * D + d) - want[d]));
    }
    assert_true(worst < 4e-3); // weights and results are rounded to half precision
    static const char *const kinds[] = {"race", "race_in_warp", "uninitialised"};
    for (size_t i = 0; i < KB_COUNT(kinds); i++) {
        char *report = cpu_report(&c, kinds[i], NULL);
        if (report)
            fail_msg("%s", report);
    }
    assert_true(cpu_fact(&c, "flops.tensor") == 4.0 * N * N * D);
    assert_true(cpu_fact(&c, "shared_bank_conflicts") == 0);
    cpu_run(&c, "unfinished", 1, 128, 0, &at[0], &at[3], NULL);
    assert_int_equal(o[5], 0xffff); // NaN, what fresh shared memory holds
    cpu_close(&c);
}

static void test_bounds(void **state)
{
    (void)state;
    run("bounds");
}
static void test_full(void **state)
{
    (void)state;
    run("full");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bounds), cmocka_unit_test(test_full)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
