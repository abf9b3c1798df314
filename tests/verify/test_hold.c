// What a module keeps from launch to launch: seen when it is written, put back as it was loaded.
#include "verify/hold.h"
#include "verify/support_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static uint64_t variables[4];

static void count(void *const *args)
{
    (void)args;
    variables[2]++;
}

static const struct toy_entry entries[] = {{"reference", count}, {"count", count}, {NULL, NULL}};
static const char bench[] = "{'kbench':1,'name':'toy','params':{'n':4},'args':["
                            "{'name':'y','role':'output','dtype':'f32','shape':['n']}],"
                            "'reference':{'source':'r.cu','kernel':'reference','launch':{'grid':[1],'block':[32]}},"
                            "'variants':[{'name':'v','source':'v.cu','kernel':'count','launch':{'grid':[1],"
                            "'block':[32]}}]}";

static void call(const struct toy *t)
{
    struct kb_error e = {0};
    struct kb_launch_args args = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
    assert_int_equal(t->device->ops->launch(t->program.kernels[0], &args, &e), 0);
}

static void what_was_written_is_seen_and_put_back(void **state)
{
    (void)state;
    struct toy t;
    struct kb_hold hold;
    struct kb_error e = {0};
    memset(variables, 7, sizeof variables);
    toy_variables = (struct kb_module_memory){.address = (uint64_t)(uintptr_t)variables, .bytes = sizeof variables};
    uint64_t before = variables[2];
    assert_int_equal(toy_setup(&t, entries, bench), 0);
    assert_int_equal(kb_hold_open(&t.data.ops, &t.program, true, &hold, &e), 0);
    assert_true(hold.count == 1 && hold.whole);
    assert_int_equal(kb_hold_look(&hold, &e), 0);
    assert_false(hold.written);
    call(&t);
    assert_int_equal(kb_hold_restore(&hold, &e), 0); // not yet known to be written
    assert_true(variables[2] == before + 1);
    assert_int_equal(kb_hold_look(&hold, &e), 0);
    assert_true(hold.written);
    assert_int_equal(kb_hold_restore(&hold, &e), 0);
    assert_true(variables[2] == before);
    assert_int_equal(kb_hold_look(&hold, &e), 0);
    assert_true(hold.written); // is kept in mind
    kb_hold_close(&hold);
    toy_teardown(&t);
    toy_variables = (struct kb_module_memory){0};
    assert_int_equal(toy_live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_seen_and_put_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
