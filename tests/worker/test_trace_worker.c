// The run worker's `trace` against the scripted driver: both versions are timed by the usual method, what no warp wrote
// is nothing, and what cannot be traced says why. What warps write is tested where kernels run:
// tests/loop/test_trace_cpu.c.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "tests/fake/open.h"
#include "worker/support_workers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char bench[] =
    "{'kbench':1,'name':'t','params':{'n':1000},"
    "'args':[{'name':'x','role':'inout','dtype':'f32','shape':['n']},{'name':'n','role':'scalar','dtype':'i32'}],"
    "'cases':[{'n':7},{'n':1000,'time':true,'name':'big'}],"
    "'variants':[{'name':'v','source':'k.cu','kernel':'k','launch':{'grid':[20],'block':[128]}}]}";

static struct driven worker;

static int set_up(void **state)
{
    (void)state;
    fake_use_all();
    return 0;
}

static void ask(const char *type, cJSON *fields, const char *blob, const char *status, const char *says,
                struct driven_answer *a)
{
    driven_answer(&worker, driven_send(&worker, type, fields, blob, strlen(blob)), a);
    const struct kb_frame *done = driven_find(a, "done");
    if (!done)
        fail_msg("no done");
    const char *reason = kb_json_text(done->head, "reason", "");
    if (strcmp(kb_json_text(done->head, "status", ""), status) || !strstr(reason, says))
        fail_msg("%s, \"%s\"; wanted %s, \"%s\"", kb_json_text(done->head, "status", "?"), reason, status, says);
}

static void begin(const char *cuda)
{
    const char *args[] = {"run", "--device", "cuda", NULL};
    char *script = kb_format("paraminfo=801; %s", cuda); // the kernels of element.cu and k have different parameters
    struct kb_frame hello;
    struct driven_answer a;
    setenv("KB_FAKE_CUDA", script, 1);
    setenv("KB_FAKE_CUPTI", "", 1);
    free(script);
    driven_start(&worker, args);
    assert_true(driven_next(&worker, &hello));
    kb_frame_free(&hello);
    cJSON *fields = driven_json("{'seed':'77','sets':1,'reference':null,'files':[],"
                                "'builtin':{'ptx_bytes':0,'cubin_bytes':7}}");
    kb_json_set(fields, "bench", driven_json(bench));
    ask("prepare", fields, "element", "pass", "", &a);
    driven_answer_free(&a);
    ask("check",
        driven_json(
            "{'version':'v1','ptx_bytes':0,'cubin_bytes':5,'kernels':[{'name':'k','lowered':'k','registers':32}],"
            "'variant':{'name':'v','source':'k.cu','launches':[{'kernel':'k','launch':"
            "{'grid':[20],'block':[128]}}]}}"),
        "cubin", "pass", "", &a);
    driven_answer_free(&a);
}

static cJSON *request(const char *version)
{
    cJSON *fields = driven_json("{'ptx_bytes':0,'cubin_bytes':6,'budget_ms':20,"
                                "'kernels':[{'name':'k','lowered':'k','registers':40}],"
                                "'sections':[{'name':'load','file':'k.cu','line':3,'id':7}]}");
    kb_json_set_text(fields, "version", version);
    return fields;
}

static void both_are_timed(void **state)
{
    struct driven_answer a;
    (void)state;
    begin("cold=40");
    ask("trace", request("v1"), "traced", "pass", "", &a);
    const struct kb_frame *f = driven_find(&a, "trace");
    assert_non_null(f);
    const cJSON *slow = kb_json_get(f->head, "slowdown"), *registers = kb_json_get(f->head, "registers"),
                *launch = cJSON_GetArrayItem(kb_json_get(f->head, "launches"), 0);
    assert_true(fabs(kb_json_number(slow, "ratio", 0) - 1) < 0.01);
    assert_true(fabs(kb_json_number(slow, "plain", 0) - 40) < 1);
    assert_string_equal(kb_json_text(slow, "unit", ""), "us");
    assert_int_equal(kb_json_int(registers, "traced", 0), 40);
    assert_int_equal(kb_json_int(f->head, "case", -1), 1);
    assert_int_equal(kb_json_int(launch, "blocks", 0), 20);
    assert_int_equal(kb_json_int(launch, "warps_per_block", 0), 4);
    // nothing ran, so nothing was recorded, and no clock is known
    assert_true(cJSON_IsNull(kb_json_get(f->head, "ticks_per_us")));
    assert_true(cJSON_IsNull(kb_json_get(f->head, "right")));
    assert_false(kb_json_bool(f->head, "aligned", true));
    assert_true(cJSON_IsNull(kb_json_get(launch, "waves")));
    const cJSON *section = cJSON_GetArrayItem(kb_json_get(f->head, "sections"), 1);
    assert_string_equal(kb_json_text(section, "name", ""), "load");
    assert_true(cJSON_IsNull(kb_json_get(section, "share")) && cJSON_IsNull(kb_json_get(section, "mean_ticks")));
    driven_answer_free(&a);
    assert_int_equal(driven_stop(&worker), 0);
}

static void refused(void **state)
{
    struct driven_answer a;
    (void)state;
    begin("variable=64");
    ask("trace", request("nosuch"), "traced", "fail", "this version is not loaded", &a);
    driven_answer_free(&a);
    ask("trace", request("v1"), "cut", "fail", "the blob is shorter", &a);
    driven_answer_free(&a);
    ask("trace", request("v1"), "traced", "fail", "not the one of this worker", &a);
    driven_answer_free(&a);
    cJSON *fields = request("v1");
    kb_json_set_number(fields, "case", 9);
    ask("trace", fields, "traced", "fail", "no case of this number", &a);
    driven_answer_free(&a);
    assert_int_equal(driven_stop(&worker), 0);
    begin("global=500");
    ask("trace", request("v1"), "traced", "fail", "no variable \"kb_section_setup\"", &a);
    assert_null(driven_find(&a, "trace"));
    driven_answer_free(&a);
    assert_int_equal(driven_stop(&worker), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_are_timed), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, set_up, NULL);
}
