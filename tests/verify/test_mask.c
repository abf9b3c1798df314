// What decides while a kernel runs: it cannot be read, and what a kernel writes over it is seen.
#include "verify/loops.h"
#include "verify/mask.h"
#include "verify/support_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 1517 };

static const char bench[] = "{'kbench':1,'name':'toy','params':{'n':1517},'args':["
                            "{'name':'x','role':'input','dtype':'f32','shape':['n/41','41']},"
                            "{'name':'y','role':'output','dtype':'f32','shape':['n/41','41']}],"
                            "'reference':{'source':'r.cu','kernel':'reference','launch':{'grid':[1],'block':[32]}},"
                            "'variants':[{'name':'v','source':'v.cu','kernel':'version','launch':{'grid':[1],"
                            "'block':[32]}}]}";

static double *results; // of the last run of the reference
static struct toy toy;

static void reference(void *const *a)
{
    results = *(double **)a[1];
    for (int i = 0; i < N; i++)
        results[i] = 3.0 * (*(float **)a[0])[i];
}

static void right(void *const *a)
{
    for (int i = 0; i < N; i++)
        (*(float **)a[1])[i] = 3 * (*(float **)a[0])[i];
}
static void copy(void *const *a)
{
    for (int i = 0; i < N; i++)
        (*(float **)a[1])[i] = (float)results[i];
}
static int differing_results;
static void look(void *const *a)
{
    right(a);
    for (int i = 0; i < N; i++)
        differing_results += results[i] != 3.0 * (*(float **)a[0])[i];
}
static void bend_results(void *const *a)
{
    right(a);
    results[5] = 0;
}
static void widen_scale(void *const *a)
{
    const struct kb_case_data *c = &toy.data.cases[0];
    right(a);
    (*(float **)a[1])[7] += 1000;
    for (int i = 0; i < c->set_count; i++)
        if (c->sets[i].scale)
            ((double *)c->sets[i].scale[1].host)[0] = 1e30;
}

static struct kb_trial try(void (*kernel)(void *const *), bool masks)
{
    static struct toy_entry entries[] = {{"reference", reference}, {"version", right}, {NULL, NULL}};
    struct kb_trial t = {0};
    entries[1].run = kernel;
    if (toy_setup(&toy, entries, bench))
        fail_msg("%s", kb_error_line(&toy.error));
    toy.data.masks = masks;
    assert_null(toy_try(&toy, 0, KB_TRIAL_VERIFY, &t));
    return t;
}

static void finish(struct kb_trial *t)
{
    kb_trial_free(t);
    toy_teardown(&toy);
}

static void results_are_no_numbers_while_a_kernel_runs(void **state)
{
    (void)state;
    struct kb_trial t = try(copy, false);
    assert_true(t.pass); // what masks are for
    finish(&t);
    t = try(copy, true);
    assert_false(t.pass);
    finish(&t);
    differing_results = 0;
    t = try(look, true);
    assert_true(t.pass);
    assert_int_equal(differing_results, 2 * N);
    kb_trial_free(&t); // and once more on another set, and on this one again
    for (int i = 0; i < 4; i++) {
        assert_null(toy_try(&toy, 0, KB_TRIAL_VERIFY, &t));
        assert_true(t.pass);
        kb_trial_free(&t);
    }
    toy_teardown(&toy);
}

static void what_was_written_over_it_is_seen(void **state)
{
    (void)state;
    for (int masks = 0; masks < 2; masks++) {
        struct kb_trial t = try(bend_results, masks);
        assert_false(t.pass);
        assert_non_null(strstr(t.reason, "memory that it was not given: the reference of y"));
        finish(&t);
        t = try(widen_scale, masks);
        assert_false(t.pass);
        assert_non_null(strstr(t.reason, "memory that it was not given: the reference of y"));
        finish(&t);
    }
}

// A stream that some known words betray is none.
static void no_two_words_of_the_stream_are_alike(void **state)
{
    (void)state;
    uint64_t words[64];
    memset(words, 0, sizeof words);
    kb_loop_mask(words, sizeof words, 1, 2);
    for (int i = 0; i < 64; i++)
        for (int k = 0; k < i; k++)
            assert_true(words[i] != words[k]);
    uint64_t other[64] = {0};
    kb_loop_mask(other, sizeof other, 1, 3);
    for (int i = 0; i < 64; i++)
        assert_true((words[i] ^ other[i]) >> 32 && (uint32_t)(words[i] ^ other[i]));
    kb_loop_mask(words, sizeof words - 5, 1, 2);
    for (int i = 0; i < 63; i++)
        assert_true(!words[i]);
    assert_int_equal(words[63] & 0xffffff, 0);
    assert_true(words[63] != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_no_numbers_while_a_kernel_runs),
        cmocka_unit_test(what_was_written_over_it_is_seen),
        cmocka_unit_test(no_two_words_of_the_stream_are_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
