// What comes before a timed launch: inputs that differ in one element and are what they were again, outputs of which
// every part holds something else.
#include "verify/disturb.h"
#include "verify/fill.h"
#include "verify/support_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 40000 };

static void twice(void *const *args)
{
    double *y = *(double **)args[2];
    for (int i = 0; i < N; i++)
        y[i] = 2.0 * (*(const float **)args[0])[i] + (*(const int **)args[1])[0];
}

static const struct toy_entry entries[] = {{"reference", twice}, {NULL, NULL}};
static const char bench[] = "{'kbench':1,'name':'toy','params':{'n':40000},'args':["
                            "{'name':'x','role':'input','dtype':'f32','shape':['n']},"
                            "{'name':'z','role':'input','dtype':'i32','shape':[3],'fill':'zeros'},"
                            "{'name':'y','role':'output','dtype':'f32','shape':['n']},"
                            "{'name':'w','role':'scratch','dtype':'i32','shape':['n']}],"
                            "'reference':{'source':'r.cu','kernel':'reference','launch':{'grid':[1],'block':[32]}},"
                            "'variants':[{'name':'v','source':'v.cu','kernel':'reference','launch':{'grid':[1],"
                            "'block':[32]}}]}";

static int differing(const struct kb_buffer *b, const void *before)
{
    int count = 0;
    for (size_t i = 0; i < b->bytes / 4; i++)
        count += memcmp((const char *)b->host + 4 * i, (const char *)before + 4 * i, 4) != 0;
    return count;
}

static void *copy_of(const struct kb_buffer *b)
{
    void *copy = malloc(b->bytes);
    memcpy(copy, b->host, b->bytes);
    return copy;
}

// The toy bench's only case, prepared.
static struct kb_case_data *set_up(struct toy *t)
{
    struct kb_error e = {0};
    assert_int_equal(toy_setup(t, entries, bench), 0);
    assert_int_equal(kb_data_prepare(&t->data, &t->data.cases[0], &e), 0);
    return &t->data.cases[0];
}

static void inputs_change_and_are_put_back(void **state)
{
    (void)state;
    struct toy t;
    struct kb_disturb w;
    struct kb_error e = {0};
    struct kb_case_data *c = set_up(&t);
    struct kb_set *s = &c->sets[0];
    void *x = copy_of(&s->input[0]), *z = copy_of(&s->input[1]), *earlier = NULL;
    kb_disturb_open(&t.data, c, &w);
    for (int round = 0; round < 50; round++) {
        if (round == 20) // of a set whose values are partly newer: its own values, too
            assert_int_equal(kb_set_touch(&t.data, c, s, &e), 0);
        if (round == 20)
            memcpy(x, s->input[0].host, s->input[0].bytes);
        assert_int_equal(kb_disturb(&w, s, 0, true, false, &e), 0);
        assert_int_equal(differing(&s->input[0], x), 1);
        assert_int_equal(differing(&s->input[1], z), 0); // there is no other value
        assert_true(kb_disturb_nudged(&w));
        if (earlier)
            assert_true(differing(&s->input[0], earlier) > 0);
        free(earlier);
        earlier = copy_of(&s->input[0]);
        if (round == 19 || round == 49) {
            assert_int_equal(kb_disturb(&w, s, 0, false, false, &e), 0);
            assert_int_equal(differing(&s->input[0], x), 0);
            assert_false(kb_disturb_nudged(&w));
        }
    }
    assert_int_equal(kb_disturb(&w, s, 0, true, false, &e), 0);
    kb_disturb_close(&w);
    assert_int_equal(differing(&s->input[0], x), 0);
    free(earlier);
    free(x);
    free(z);
    toy_teardown(&t);
}

static void every_part_of_an_output_is_spoilt(void **state)
{
    (void)state;
    struct toy t;
    struct kb_disturb w;
    struct kb_error e = {0};
    struct kb_case_data *c = set_up(&t);
    for (int arg = 2; arg < 4; arg++) {
        struct kb_buffer *b = &c->work[1][arg];
        memset(b->host, 0, b->bytes);
    }
    void *zeros = calloc(1, c->work[1][2].bytes), *other = copy_of(&c->work[0][2]);
    kb_disturb_open(&t.data, c, &w);
    assert_int_equal(kb_disturb(&w, &c->sets[0], 1, false, true, &e), 0);
    assert_true(differing(&c->work[1][2], zeros) >= N / 156); // one in each 156
    assert_true(differing(&c->work[1][2], zeros) < N / 100);
    assert_true(differing(&c->work[1][3], zeros) >= N / 200); // integers: some were zero before
    assert_int_equal(differing(&c->work[0][2], other), 0);    // those of the other run are not
    for (int i = 0, last = -1; i < N; i++)
        if (((float *)c->work[1][2].host)[i] != 0) {
            assert_true(i - last <= 2 * 156);
            last = i;
        }
    kb_disturb_close(&w);
    free(zeros);
    free(other);
    toy_teardown(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_change_and_are_put_back),
        cmocka_unit_test(every_part_of_an_output_is_spoilt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
