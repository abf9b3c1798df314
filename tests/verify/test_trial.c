// Kernels that are wrong in every way of D4, and right ones: poison, guards, input hashes, metrics, through the whole
// of a trial. The kernels are C functions; doubling x into y.
#include "base/json.h"
#include "verify/fill.h"
#include "verify/support_device.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 37, COLS = 41, N = ROWS * COLS };

static const char bench_format[] =
    "{'kbench':1,'name':'toy','params':{'n':1517},'args':["
    "{'name':'x','role':'input','dtype':'f32','shape':['n/41','41']},"
    "{'name':'y','role':'output','dtype':'f32','shape':['n/41','41']},"
    "{'name':'n','role':'scalar','dtype':'i32'}],"
    "'reference':{'source':'r.cu','kernel':'reference','launch':{'grid':[1],'block':[32]}},"
    "'variants':[{'name':'v','source':'v.cu','kernel':'%s','launch':{'grid':[1],'block':[32]}}]}";

static float *x_of(void *const *a)
{
    return *(float **)a[0];
}
static float *y_of(void *const *a)
{
    return *(float **)a[1];
}
static int n_of(void *const *a)
{
    return *(int *)a[2];
}

static double *reference_results;
static void reference(void *const *a)
{
    double *y = reference_results = *(double **)a[1];
    for (int i = 0; i < n_of(a); i++)
        y[i] = 2.0 * (double)x_of(a)[i];
}
static void good(void *const *a)
{
    for (int i = 0; i < n_of(a); i++)
        y_of(a)[i] = 2 * x_of(a)[i];
}
static void empty(void *const *a)
{
    (void)a;
}
static void even(void *const *a)
{
    for (int i = 0; i < n_of(a); i += 2)
        y_of(a)[i] = 2 * x_of(a)[i];
}
static void no_last_block(void *const *a)
{
    for (int i = 0; i < n_of(a) / 256 * 256; i++)
        y_of(a)[i] = 2 * x_of(a)[i];
}
static void zeros_both(void *const *a)
{
    for (int i = 0; i < n_of(a); i++)
        x_of(a)[i] = y_of(a)[i] = 0;
}
static void past_end(void *const *a)
{
    good(a);
    for (int i = 0; i < 16; i++)
        y_of(a)[n_of(a) + i] = 1;
}
static void before_start(void *const *a)
{
    good(a);
    y_of(a)[-3] = 1;
}
static void input_guard(void *const *a)
{
    good(a);
    x_of(a)[n_of(a)] = 1;
}
static void writes_reference(void *const *a)
{
    good(a);
    reference_results[1] = y_of(a)[1] = 5;
}
static void zeros(void *const *a)
{
    memset(y_of(a), 0, (size_t)n_of(a) * 4);
}
static void one_nan(void *const *a)
{
    good(a);
    y_of(a)[100] = NAN;
}
static void one_wrong(void *const *a)
{
    good(a);
    y_of(a)[5 * COLS + 7] += 0.5F;
}
static void last_tile(void *const *a)
{
    good(a);
    for (int r = 32; r < ROWS; r++)
        for (int c = 32; c < COLS; c++)
            y_of(a)[r * COLS + c] = 9;
}
static int calls;
static void flickers(void *const *a)
{
    good(a);
    y_of(a)[3] = nextafterf(y_of(a)[3], ++calls & 1 ? 100.0F : -100.0F);
}
static void wrong_every_second(void *const *a)
{
    good(a);
    if (!(++calls & 1))
        y_of(a)[3] += 1;
}
static void reads_output(void *const *a)
{
    for (int i = 0; i < n_of(a); i++)
        y_of(a)[i] += 2 * x_of(a)[i];
}

static const struct toy_entry kernels[] = {
    {"reference", reference},
    {"good", good},
    {"empty", empty},
    {"even", even},
    {"no_last_block", no_last_block},
    {"zeros_both", zeros_both},
    {"past_end", past_end},
    {"before_start", before_start},
    {"input_guard", input_guard},
    {"zeros", zeros},
    {"one_nan", one_nan},
    {"one_wrong", one_wrong},
    {"last_tile", last_tile},
    {"flickers", flickers},
    {"wrong_every_second", wrong_every_second},
    {"reads_output", reads_output},
    {"writes_reference", writes_reference},
    {"faults", NULL},
    {NULL, NULL},
};

static void setup(struct toy *t, const char *kernel)
{
    char json[2048];
    snprintf(json, sizeof json, bench_format, kernel);
    calls = 0;
    if (toy_setup(t, kernels, json))
        fail_msg("%s", kb_error_line(&t->error));
}

// The kernel fails in both rungs unless run_passes; part of the reason must be `says`.
static void must_fail(const char *kernel, bool run_passes, const char *says)
{
    for (int depth = 0; depth < 2; depth++) {
        struct toy t;
        struct kb_trial trial;
        setup(&t, kernel);
        assert_null(toy_try(&t, 0, depth ? KB_TRIAL_VERIFY : KB_TRIAL_RUN, &trial));
        bool pass = !depth && run_passes;
        if (trial.pass != pass || (!pass && !strstr(trial.reason, says)))
            fail_msg("%s, depth %d: pass %d, \"%s\"", kernel, depth, trial.pass, trial.reason);
        kb_trial_free(&trial);
        toy_teardown(&t);
        assert_int_equal(toy_live, 0);
    }
}

static void wrong_kernels_fail(void **state)
{
    (void)state;
    must_fail("empty", false, "y: 1517 of 1517 elements never written, first at [0, 0]");
    must_fail("even", false, "y: 758 of 1517 elements never written, first at [0, 1] (every second element from 1 on)");
    must_fail("no_last_block", false, "237 of 1517 elements never written, first at [31, 9] (all from [31, 9] on)");
    must_fail("zeros_both", false, "the kernel changed its input x");
    must_fail("past_end", false, "64 bytes written past the end of y, from element 1517 on (it has 1517)");
    must_fail("before_start", false, "4 bytes written before the start of y, from byte -12 on");
    must_fail("writes_reference", false, "memory that it was not given: the reference of y");
    must_fail("input_guard", false, "4 bytes written past the end of x");
    must_fail("one_nan", false, "1 of 1517 elements are NaN or infinite where the reference is a number");
    // A NaN may keep its payload through the sum, and then looks like poison.
    must_fail("reads_output", false, "y: 1517 of 1517 elements");
    must_fail("zeros", true, "y: 1517 of 1517 elements are wrong: scaled above");
    must_fail("one_wrong", true, "y: 1 of 1517 elements are wrong: scaled above 2.24e-06 (one element, [5, 7])");
    must_fail("last_tile", true, "y: 45 of 1517 elements are wrong: scaled above 2.24e-06 (rows >= 32, columns >= 32)");
    must_fail("wrong_every_second", true, "y: 1 of 1517 elements are wrong");
}

// A newer save stops what runs, the reference too: that is nobody's fault, and the case is as good as before.
static void a_stopped_reference_is_no_failure(void **state)
{
    (void)state;
    struct toy t;
    struct kb_trial trial;
    for (int at = 1; at <= 4; at++) {
        setup(&t, "good");
        toy_stop_at = at;
        const char *failed = toy_try(&t, 0, KB_TRIAL_VERIFY, &trial);
        assert_true(failed || trial.device_failed || trial.pass);
        assert_true(t.data.cases[0].usable);
        assert_false(t.data.cases[0].reference_failed);
        kb_trial_free(&trial);
        t.device->stopped = false;
        toy_stop_at = 0;
        assert_null(toy_try(&t, 0, KB_TRIAL_VERIFY, &trial));
        assert_true(trial.pass);
        assert_true(t.data.cases[0].introduced);
        kb_trial_free(&trial);
        toy_teardown(&t);
    }
}

// Scales have as many groups as the rule thinks, however little is asked.
static void the_rule_fits_its_scales(void **state)
{
    (void)state;
    static const enum kb_trial_depth depths[] = {KB_TRIAL_RUN, KB_TRIAL_VERIFY};
    struct toy t;
    struct kb_trial trial;
    setup(&t, "good");
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        assert_null(toy_try(&t, 0, depths[i], &trial));
        const struct kb_trial_output *o = &trial.outputs[0];
        uint64_t n = (uint64_t)t.data.cases[0].elements[o->arg], group = o->bound.rule.group;
        assert_int_equal((n + group - 1) / group * sizeof(double), t.data.cases[0].sets[0].scale[o->arg].bytes);
        kb_trial_free(&trial);
    }
    toy_teardown(&t);
}

static void good_kernel_passes(void **state)
{
    (void)state;
    struct toy t;
    struct kb_trial trial;
    setup(&t, "good");
    for (int i = 0; i < 5; i++) {
        assert_null(toy_try(&t, 0, KB_TRIAL_VERIFY, &trial));
        assert_true(trial.pass);
        assert_true(trial.fresh);
        assert_string_equal(trial.reason, "");
        assert_true(trial.outputs[0].metrics.exact);
        kb_trial_free(&trial);
    }
    toy_teardown(&t);
    assert_int_equal(toy_live, 0);
}

static void bitwise_differences_are_told(void **state)
{
    (void)state;
    struct toy t;
    struct kb_trial trial;
    setup(&t, "flickers");
    assert_null(toy_try(&t, 0, KB_TRIAL_VERIFY, &trial));
    assert_true(trial.pass);
    assert_true(trial.differs);
    assert_non_null(strstr(trial.reason, "2 runs differ bitwise (1 elements)"));
    kb_trial_free(&trial);
    toy_teardown(&t);
}

static void weak_tolerance_is_told(void **state)
{
    (void)state;
    struct toy t;
    struct kb_trial trial;
    char json[2048], weak[2048];
    snprintf(json, sizeof json, bench_format, "good");
    snprintf(weak, sizeof weak, "%.*s,'tolerance':{'max_abs':100}}", (int)strlen(json) - 1, json);
    assert_int_equal(toy_setup(&t, kernels, weak), 0);
    assert_null(toy_try(&t, 0, KB_TRIAL_VERIFY, &trial));
    assert_true(trial.pass && trial.notable);
    assert_non_null(strstr(trial.reason, "zeros would pass, too"));
    kb_trial_free(&trial);
    toy_teardown(&t);
}

static void fault_is_the_kernels(void **state)
{
    (void)state;
    struct toy t;
    struct kb_trial trial;
    setup(&t, "faults");
    assert_null(toy_try(&t, 0, KB_TRIAL_RUN, &trial));
    assert_false(trial.pass);
    assert_true(trial.device_failed);
    assert_string_equal(trial.reason, "kernel faults: an illegal memory access");
    assert_int_equal(t.device->fault.kind, KB_FAULT_POISONED);
    kb_trial_free(&trial);
    toy_teardown(&t);
}

static void case_event_says_where(void **state)
{
    (void)state;
    struct toy t;
    struct kb_trial trial;
    setup(&t, "last_tile");
    assert_null(toy_try(&t, 0, KB_TRIAL_VERIFY, &trial));
    cJSON *event = kb_trial_json(&t.data, &t.data.cases[0], &trial);
    const cJSON *out = cJSON_GetArrayItem(kb_json_get(event, "outputs"), 0), *metrics = kb_json_get(out, "metrics");
    const cJSON *bad = kb_json_get(metrics, "first_bad"), *map = kb_json_get(out, "map");
    assert_string_equal(kb_json_text(event, "status", ""), "fail");
    assert_string_equal(kb_json_text(event, "set", ""), "fresh");
    assert_int_equal(kb_json_int(metrics, "mismatches", -1), 45);
    assert_int_equal(cJSON_GetArrayItem(kb_json_get(bad, "index"), 0)->valueint, 32);
    assert_int_equal(cJSON_GetArrayItem(kb_json_get(bad, "index"), 1)->valueint, 32);
    assert_true(kb_json_number(bad, "got", 0) == 9);
    // 37 rows fold into 16: rows 32 to 36 are cells 13 (partly), 14 and 15; columns 32 to 40 are cells 24 to 31
    const char *cells = kb_json_text(map, "cells", "");
    assert_int_equal(strlen(cells), 16 * 32);
    assert_int_equal(cells[0], '0');
    assert_int_equal(cells[15 * 32 + 31], 'f');
    assert_int_equal(cells[15 * 32 + 23], '0');
    assert_true(cells[13 * 32 + 31] > '0' && cells[13 * 32 + 31] < 'f');
    assert_true(kb_json_number(kb_json_get(out, "tolerance"), "bound", 0) > 0);
    assert_string_equal(kb_json_text(out, "where", ""), "rows >= 32, columns >= 32");
    cJSON_Delete(event);
    kb_trial_free(&trial);
    toy_teardown(&t);
}

// Of a large output the phrase says which part was looked at.
static void where_of_a_large_output(void **state)
{
    (void)state;
    struct toy t;
    struct kb_trial trial;
    char json[sizeof bench_format + 64], *size;
    snprintf(json, sizeof json, bench_format, "even");
    size = strstr(json, "1517}");
    assert_non_null(size);
    memmove(size + 7, size + 4, strlen(size + 4) + 1);
    memcpy(size, "1230000", 7); // 30000 rows
    assert_int_equal(toy_setup(&t, kernels, json), 0);
    assert_null(toy_try(&t, 0, KB_TRIAL_VERIFY, &trial));
    if (!strstr(trial.reason, "615000 of 1230000 elements") ||
        !strstr(trial.reason, "(in the first 25575 rows: every second element from 1 on)"))
        fail_msg("%s", trial.reason);
    kb_trial_free(&trial);
    toy_teardown(&t);
}

static void bad_reference(void *const *a)
{
    reference(a);
    memset(*(double **)a[1] + 10, 0x5a, 8);
    *(uint64_t *)(*(double **)a[1] + 10) = 0x7ffa5a5a5a5a5a5aULL; // as if it were never written
}
static void reference_past_end(void *const *a)
{
    reference(a);
    (*(double **)a[1])[n_of(a)] = 1;
}
static void reference_input(void *const *a)
{
    reference(a);
    x_of(a)[0] += 1;
}

static void reference_is_checked(void **state)
{
    (void)state;
    static const struct {
        toy_kernel run;
        const char *says;
    } wrong[] = {{bad_reference, "the reference itself never writes 1 of 1517 elements, first at 10"},
                 {reference_past_end, "the reference itself writes outside of the array: 8 bytes"},
                 {reference_input, "the reference itself changes its input"},
                 {NULL, "the reference itself fails: an illegal memory access"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct toy_entry table[] = {{"reference", wrong[i].run}, {"good", good}, {NULL, NULL}};
        struct toy t;
        struct kb_trial trial;
        char json[2048];
        snprintf(json, sizeof json, bench_format, "good");
        assert_int_equal(toy_setup(&t, table, json), 0);
        const char *error = toy_try(&t, 0, KB_TRIAL_VERIFY, &trial);
        assert_non_null(error);
        if (!strstr(error, wrong[i].says))
            fail_msg("%s", error);
        assert_true(t.data.reference_failed); // not to be guessed from the words
        kb_trial_free(&trial);
        toy_teardown(&t);
    }
}

static void too_large_a_case_is_not_usable(void **state)
{
    (void)state;
    struct toy t;
    struct kb_trial trial;
    toy_free_bytes = 60000;
    setup(&t, "good");
    toy_free_bytes = (size_t)1 << 30;
    assert_non_null(toy_try(&t, 0, KB_TRIAL_VERIFY, &trial));
    assert_non_null(strstr(t.error.what, "half of the device's free memory"));
    assert_false(t.data.reference_failed);
    toy_teardown(&t);
    assert_int_equal(toy_live, 0);
}

static void pool_is_refilled_with_new_sets(void **state)
{
    (void)state;
    struct toy t;
    struct kb_trial trial;
    struct kb_case_data *c;
    struct kb_set *s;
    setup(&t, "good");
    uint64_t seen = 0;
    for (int i = 0; i < 4; i++) {
        assert_null(toy_try(&t, 0, KB_TRIAL_VERIFY, &trial));
        kb_trial_free(&trial);
        int filled = 0;
        do {
            assert_int_equal(kb_data_refill(&t.data, true, &c, &s, &t.error), 0);
            if (c) {
                assert_true(s->number > seen);
                seen = s->number;
                filled++;
            }
        } while (c);
        assert_int_equal(filled, i ? 1 : 2); // at first the second set is made, too
        assert_int_equal(t.data.cases[0].set_count, 2);
    }
    toy_teardown(&t);
}

static uint64_t differing(const float *a, const float *b, uint64_t n)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < n; i++)
        count += a[i] != b[i];
    return count;
}

static void touched_inputs_differ_in_a_few(void **state)
{
    (void)state;
    struct toy t;
    setup(&t, "good");
    struct kb_case_data *c = &t.data.cases[0];
    assert_int_equal(kb_data_prepare(&t.data, c, &t.error), 0);
    struct kb_set *s = &c->sets[0];
    uint64_t n = (uint64_t)c->elements[0], number = s->number;
    size_t bytes = n * sizeof(float);
    float *before = malloc(bytes), *now = malloc(bytes);
    assert_int_equal(t.data.device->ops->to_host(t.data.device, before, s->input[0].address, bytes, &t.error), 0);
    assert_int_equal(kb_set_touch(&t.data, c, s, &t.error), 0);
    assert_true(s->ready && s->base == number && s->number > number);
    assert_int_equal(t.data.device->ops->to_host(t.data.device, now, s->input[0].address, bytes, &t.error), 0);
    uint64_t changed = differing(before, now, n);
    assert_true(changed == 1 || (changed > n / 256 && changed < n / 16)); // by turns
    // The numbers tell it all: what is made from them again is the same.
    assert_int_equal(kb_set_inputs(&t.data, c, s, &t.error), 0);
    assert_int_equal(t.data.device->ops->to_host(t.data.device, before, s->input[0].address, bytes, &t.error), 0);
    assert_int_equal(differing(before, now, n), 0);
    assert_int_equal(kb_set_touch(&t.data, c, s, &t.error), 0); // a second time: new throughout
    assert_true(s->base == 0);
    assert_int_equal(t.data.device->ops->to_host(t.data.device, before, s->input[0].address, bytes, &t.error), 0);
    assert_true(differing(before, now, n) > n / 2);
    free(before);
    free(now);
    toy_teardown(&t);
}

// A kernel that leaves its outputs alone passes where they hold the result already, and only there.
static void old_results_are_no_results(void **state)
{
    (void)state;
    struct toy t;
    struct kb_trial trial;
    setup(&t, "good");
    assert_null(toy_try(&t, 0, KB_TRIAL_VERIFY, &trial));
    assert_true(trial.pass);
    kb_trial_free(&trial);
    assert_null(toy_try(&t, 0, KB_TRIAL_STALE, &trial));
    assert_true(trial.pass && trial.depth == KB_TRIAL_VERIFY);
    kb_trial_free(&trial);
    toy_teardown(&t);
    setup(&t, "empty");
    struct kb_case_data *c = &t.data.cases[0];
    assert_int_equal(kb_data_prepare(&t.data, c, &t.error), 0);
    for (int run = 0; run < 2; run++) // the result of other inputs
        memset(c->work[run][1].host, 0, c->work[run][1].bytes);
    assert_null(toy_try(&t, 0, KB_TRIAL_STALE, &trial));
    assert_false(trial.pass);
    assert_non_null(strstr(trial.reason, "y: 1517 of 1517 elements are wrong"));
    kb_trial_free(&trial);
    toy_teardown(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(touched_inputs_differ_in_a_few),
        cmocka_unit_test(old_results_are_no_results),
        cmocka_unit_test(wrong_kernels_fail),
        cmocka_unit_test(good_kernel_passes),
        cmocka_unit_test(the_rule_fits_its_scales),
        cmocka_unit_test(a_stopped_reference_is_no_failure),
        cmocka_unit_test(bitwise_differences_are_told),
        cmocka_unit_test(weak_tolerance_is_told),
        cmocka_unit_test(fault_is_the_kernels),
        cmocka_unit_test(case_event_says_where),
        cmocka_unit_test(where_of_a_large_output),
        cmocka_unit_test(reference_is_checked),
        cmocka_unit_test(too_large_a_case_is_not_usable),
        cmocka_unit_test(pool_is_refilled_with_new_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
