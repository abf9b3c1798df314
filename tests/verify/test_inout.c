// Arguments that are read and written, scratch between two launches, integer outputs: acc += 2 x by way of tmp, and
// count = number of positive x in each row.
#include "verify/support_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char bench_format[] =
    "{'kbench':1,'name':'toy','params':{'rows':5,'cols':40},'args':["
    "{'name':'x','role':'input','dtype':'bf16','shape':['rows','cols']},"
    "{'name':'acc','role':'inout','dtype':'f32','shape':['rows','cols']},"
    "{'name':'tmp','role':'scratch','dtype':'f32','shape':['rows','cols']},"
    "{'name':'count','role':'output','dtype':'i32','shape':['rows']},"
    "{'name':'n','role':'scalar','dtype':'i32','value':'rows*cols'},"
    "{'name':'factor','role':'scalar','dtype':'f32','value':'2'}],"
    "'reference':{'source':'r.cu','launches':[{'kernel':'reference','launch':{'grid':[1],'block':[32]}}]},"
    "'variants':[{'name':'v','source':'v.cu','launches':["
    "{'kernel':'%s','args':['tmp','x','n','factor'],'launch':{'grid':[1],'block':[32]}},"
    "{'kernel':'%s','args':['acc','count','tmp','x','n'],'launch':{'grid':[1],'block':[32]}}]}]}";

enum { COLS = 40 };
static double bf16(const void *p, int i)
{
    return kbe_decode(KBE_BF16, ((const uint16_t *)p)[i]);
}

static void reference(void *const *a)
{
    const void *x = *(void **)a[0];
    double *acc = *(double **)a[1];
    int32_t *count = *(int32_t **)a[3];
    for (int i = 0; i < *(int *)a[4]; i++) {
        acc[i] += (double)*(float *)a[5] * bf16(x, i);
        count[i / COLS] = (i % COLS ? count[i / COLS] : 0) + (bf16(x, i) > 0);
    }
}
static void scale(void *const *a)
{
    for (int i = 0; i < *(int *)a[2]; i++)
        (*(float **)a[0])[i] = *(float *)a[3] * (float)bf16(*(void **)a[1], i);
}
static void nothing(void *const *a)
{
    (void)a;
}
static void add(void *const *a)
{
    int32_t *count = *(int32_t **)a[1];
    for (int i = 0; i < *(int *)a[4]; i++) {
        (*(float **)a[0])[i] += (*(float **)a[2])[i];
        count[i / COLS] = (i % COLS ? count[i / COLS] : 0) + (bf16(*(void **)a[3], i) > 0);
    }
}
static void add_off_by_one(void *const *a)
{
    add(a);
    (*(int32_t **)a[1])[4]++;
}
static void only_count(void *const *a)
{
    float *acc = *(float **)a[0], first = acc[0];
    add(a);
    for (int i = 1; i < *(int *)a[4]; i++)
        acc[i] -= (*(float **)a[2])[i];
    acc[0] = first;
}
static void past_scratch(void *const *a)
{
    scale(a);
    (*(float **)a[0])[*(int *)a[2]] = 1;
}

static const struct toy_entry kernels[] = {
    {"reference", reference},           {"scale", scale},           {"nothing", nothing},           {"add", add},
    {"add_off_by_one", add_off_by_one}, {"only_count", only_count}, {"past_scratch", past_scratch}, {NULL, NULL},
};

static void expect(const char *first, const char *second, const char *says)
{
    struct toy t;
    struct kb_trial trial;
    char json[4096];
    snprintf(json, sizeof json, bench_format, first, second);
    if (toy_setup(&t, kernels, json))
        fail_msg("%s", kb_error_line(&t.error));
    for (int i = 0; i < 2; i++) { // a second time: inouts begin afresh
        const char *error = toy_try(&t, 0, KB_TRIAL_VERIFY, &trial);
        if (error)
            fail_msg("%s", error);
        if (trial.pass != !says || (says && !strstr(trial.reason, says)))
            fail_msg("%s, %s: pass %d, %s", first, second, trial.pass, trial.reason);
        assert_int_equal(trial.output_count, 2);
        kb_trial_free(&trial);
    }
    toy_teardown(&t);
    assert_int_equal(toy_live, 0);
}

static void inout_and_scratch(void **state)
{
    (void)state;
    expect("scale", "add", NULL);
    expect("nothing", "add", "acc: 200 of 200 elements are NaN"); // scratch is poisoned, too
    expect("scale", "only_count", "acc: ");
    expect("scale", "add_off_by_one", "count: 1 of 5 elements differ");
    expect("past_scratch", "add", "past the end of tmp, from element 200 on");
    expect("scale", "nothing", "count: 5 of 5 elements never written");
}

// Before each of the two runs: tmp (200 x f32) and count (5 x i32), but neither x nor acc.
static void outputs_and_scratch_are_undefined(void **state)
{
    (void)state;
    struct toy t;
    struct kb_trial trial;
    char json[4096];
    snprintf(json, sizeof json, bench_format, "scale", "add");
    assert_int_equal(toy_setup(&t, kernels, json), 0);
    toy_undefined = 0;
    assert_null(toy_try(&t, 0, KB_TRIAL_VERIFY, &trial));
    assert_int_equal(toy_undefined, 2 * (800 + 20));
    kb_trial_free(&trial);
    toy_teardown(&t);
}

static void twice(void *const *a)
{
    int n = *(int *)a[1], size = *(int *)a[2];
    for (int i = 0; i < n; i++)
        kbe_store(*(void **)a[0], size, (uint64_t)i, 2 * kbe_load(*(void **)a[0], size, (uint64_t)i));
}
static void twice_but_one(void *const *a)
{
    int n = *(int *)a[1], size = *(int *)a[2];
    uint64_t last = kbe_load(*(void **)a[0], size, (uint64_t)n - 1);
    twice(a);
    kbe_store(*(void **)a[0], size, (uint64_t)n - 1, 2 * last + 1);
}
static const struct toy_entry in_place[] = {{"twice", twice}, {"twice_but_one", twice_but_one}, {NULL, NULL}};

static void expect_in_place(const char *type, int size, int n, const char *kernel, bool right)
{
    static const char format[] = "{'kbench':1,'name':'toy','args':["
                                 "{'name':'x','role':'inout','dtype':'%s','shape':['%d']},"
                                 "{'name':'n','role':'scalar','dtype':'i32','value':'%d'},"
                                 "{'name':'size','role':'scalar','dtype':'i32','value':'%d'}],"
                                 "'reference':{'source':'r.cu','kernel':'twice','launch':{'grid':[1],'block':[32]}},"
                                 "'variants':[{'name':'v','source':'v.cu','kernel':'%s',"
                                 "'launch':{'grid':[1],'block':[32]}}]}";
    char json[1024];
    struct toy t;
    struct kb_trial trial;
    snprintf(json, sizeof json, format, type, n, n, size, kernel);
    if (toy_setup(&t, in_place, json))
        fail_msg("%s", kb_error_line(&t.error));
    const char *error = toy_try(&t, 0, KB_TRIAL_VERIFY, &trial);
    if (error)
        fail_msg("%s of %d: %s", type, n, error);
    if (trial.pass != right)
        fail_msg("%s of %d, %s: pass %d, %s", type, n, kernel, trial.pass, trial.reason);
    kb_trial_free(&trial);
    toy_teardown(&t);
}

// The reference of an integer is of the integer's own width: what it begins with takes no more room than that.
static void integers_in_place(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int size;
    } types[] = {{"i8", 1}, {"u8", 1}, {"i32", 4}, {"i64", 8}};
    static const int counts[] = {1, 100, 4096, 20000}; // 20000: far over the guard's 4 KiB
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            expect_in_place(types[i].name, types[i].size, counts[k], "twice", true);
            expect_in_place(types[i].name, types[i].size, counts[k], "twice_but_one", false);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(inout_and_scratch),
                                       cmocka_unit_test(outputs_and_scratch_are_undefined),
                                       cmocka_unit_test(integers_in_place)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
