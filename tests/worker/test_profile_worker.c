// kbench-worker profile over its pipe, against the scripted driver and CUPTI: sections, counters, release, refusals.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "tests/fake/open.h"
#include "worker/support_workers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUBIN KB_SOURCE_DIR "/tests/data/inlined.cubin"

static const char bench[] =
    "{'kbench':1,'name':'t','params':{'n':1000},"
    "'args':[{'name':'x','role':'inout','dtype':'f32','shape':['n']},{'name':'n','role':'scalar','dtype':'i32'}],"
    "'cases':[{'n':7},{'n':1000,'time':true,'name':'big'}],"
    "'work':{'flops':'2*n','bytes':'8*n'},"
    "'variants':[{'name':'v','source':'inlined.cu','kernel':'k','launch':{'grid':[1],'block':[128]}}]}";

static struct driven worker;
static char *cubin;
static size_t cubin_size;

static int read_cubin(void **state)
{
    (void)state;
    struct kb_error e = {0};
    fake_use_all();
    return kb_file_read(CUBIN, 1 << 20, &cubin, &cubin_size, &e);
}

static int forget_cubin(void **state)
{
    (void)state;
    free(cubin);
    return 0;
}

static void start(const char *cuda, const char *cupti, struct kb_frame *hello)
{
    const char *args[] = {"profile", "--device", "cuda", NULL};
    char *script = kb_format("paraminfo=801; %s", cuda); // the kernels of element.cu and k have different parameters
    setenv("KB_FAKE_CUDA", script, 1);
    setenv("KB_FAKE_CUPTI", cupti, 1);
    free(script);
    driven_start(&worker, args);
    assert_true(driven_next(&worker, hello));
    assert_string_equal(kb_frame_type(hello), "hello");
    assert_string_equal(kb_json_text(hello->head, "role", ""), "profile");
}

static void ask(const char *type, const char *fields, struct driven_answer *a)
{
    driven_answer(&worker, driven_send(&worker, type, driven_json(fields), NULL, 0), a);
}

// The `done` of an answer, which must have this status; `says` is part of its reason.
static const struct kb_frame *expect(const struct driven_answer *a, const char *status, const char *says)
{
    const struct kb_frame *done = driven_find(a, "done");
    if (!done)
        fail_msg("no done");
    const char *reason = kb_json_text(done->head, "reason", "");
    if (strcmp(kb_json_text(done->head, "status", ""), status) || !strstr(reason, says))
        fail_msg("%s, \"%s\"; wanted %s, \"%s\"", kb_json_text(done->head, "status", "?"), reason, status, says);
    return done;
}

static void send_prepare(struct driven_answer *a)
{
    cJSON *fields = driven_json("{'seed':'77','sets':1,'reference':null,'files':[],"
                                "'builtin':{'ptx_bytes':0,'cubin_bytes':7}}");
    kb_json_set(fields, "bench", driven_json(bench));
    driven_answer(&worker, driven_send(&worker, "prepare", fields, "element", 7), a);
}

static void prepare(void)
{
    struct driven_answer a;
    send_prepare(&a);
    expect(&a, "pass", "");
    driven_answer_free(&a);
}

static void check(void)
{
    struct driven_answer a;
    cJSON *fields = driven_json("{'version':'v1','ptx_bytes':0,'kernels':[{'name':'k','lowered':'k','registers':32}],"
                                "'variant':{'name':'v','source':'inlined.cu','launches':[{'kernel':'k','launch':"
                                "{'grid':[1],'block':[128]}}]}}");
    kb_json_set_number(fields, "cubin_bytes", (double)cubin_size);
    driven_answer(&worker, driven_send(&worker, "check", fields, cubin, cubin_size), &a);
    expect(&a, "pass", "");
    assert_non_null(driven_find(&a, "resources"));
    driven_answer_free(&a);
}

static void begin(const char *cuda, const char *cupti)
{
    struct kb_frame hello;
    start(cuda, cupti, &hello);
    assert_true(cJSON_IsNull(kb_json_get(hello.head, "failed")));
    const cJSON *cupti_lib = cJSON_GetArrayItem(kb_json_get(hello.head, "libs"), 1);
    assert_string_equal(kb_json_text(cupti_lib, "name", ""), "cupti");
    assert_true(cJSON_IsNull(kb_json_get(cupti_lib, "missing")));
    kb_frame_free(&hello);
    prepare();
    check();
}

static void end(void)
{
    struct kb_frame f;
    driven_send(&worker, "quit", NULL, NULL, 0);
    assert_false(driven_next(&worker, &f));
    assert_int_equal(driven_stop(&worker), 0);
}

#define SECTIONS                                                                                                       \
    "{'version':'v1','time_us':100,'budget_ms':60,'lines':["                                                           \
    "{'file':'inlined.cu','line':19,'end_line':20,'name':'one'},"                                                      \
    "{'file':'inlined.cu','line':21,'end_line':23,'name':'two'}]}"

static void sections_of_a_version(void **state)
{
    (void)state;
    struct driven_answer a;
    begin("", "function=k; base=1056; pcs=8"); // 0x420: helper in one; from 0x490 helper in two
    ask("sections", SECTIONS, &a);
    const struct kb_frame *done = expect(&a, "pass", ""), *f = driven_find(&a, "sections");
    assert_true(kb_json_bool(done->head, "held", false));
    assert_string_equal(kb_json_text(driven_find(&a, "rung")->head, "rung", ""), "sections");
    assert_string_equal(kb_json_text(f->head, "version", ""), "v1");
    assert_int_equal(kb_json_int(f->head, "case", -1), 1);
    assert_string_equal(kb_json_text(f->head, "source", ""), "cupti pc sampling");
    assert_int_equal(kb_json_int(f->head, "dropped", -1), 0);
    assert_true(kb_json_bool(f->head, "line_info", false));
    const cJSON *list = kb_json_get(f->head, "sections"), *one = cJSON_GetArrayItem(list, 0),
                *two = cJSON_GetArrayItem(list, 1);
    assert_int_equal(cJSON_GetArraySize(list), 2);
    assert_string_equal(kb_json_text(one, "name", ""), "one");
    double shares = kb_json_number(one, "share", 0) + kb_json_number(two, "share", 0);
    assert_true(shares > 0.999 && shares < 1.001);
    double us = kb_json_number(one, "us", 0) + kb_json_number(two, "us", 0);
    assert_true(us > 99.9 && us < 100.1);
    assert_true(kb_json_number(one, "samples", 0) > 0);
    const cJSON *stall = cJSON_GetArrayItem(kb_json_get(one, "stalls"), 0);
    assert_string_equal(kb_json_text(stall, "group", ""), "memory");
    assert_true(kb_json_number(stall, "share", 0) == 0.5);
    assert_string_equal(kb_json_text(cJSON_GetArrayItem(kb_json_get(one, "raw"), 0), "name", ""), "long_scoreboard");
    assert_true(cJSON_GetArraySize(kb_json_get(f->head, "lines")) > 0);
    cJSON *blob = cJSON_Parse(f->blob);
    const cJSON *kernel = cJSON_GetArrayItem(kb_json_get(blob, "kernels"), 0);
    assert_string_equal(kb_json_text(kernel, "name", ""), "k");
    const cJSON *pc = cJSON_GetArrayItem(kb_json_get(kernel, "pcs"), 0);
    assert_int_equal(cJSON_GetArraySize(kb_json_get(kernel, "pcs")), 8);
    assert_int_equal(cJSON_GetArrayItem(pc, 0)->valueint, 1056);
    cJSON_Delete(blob);
    driven_answer_free(&a);
    ask("sections", "{'version':'v1','time_us':null,'lines':[]}", &a); // no markers: functions and lines
    expect(&a, "pass", "");
    f = driven_find(&a, "sections");
    assert_int_equal(cJSON_GetArraySize(kb_json_get(f->head, "sections")), 0);
    const cJSON *function = cJSON_GetArrayItem(kb_json_get(f->head, "functions"), 0);
    assert_string_equal(kb_json_text(function, "name", ""), "helper");
    assert_true(cJSON_IsNull(kb_json_get(function, "us")));
    assert_true(kb_json_text(function, "us_reason", "")[0] != 0);
    driven_answer_free(&a);
    end();
}

static void counters_give_sampling_back(void **state)
{
    (void)state;
    struct driven_answer a;
    begin("", "function=k; passes=3; lacks=lts__t_bytes");
    ask("sections", SECTIONS, &a);
    expect(&a, "pass", "");
    driven_answer_free(&a);
    ask("counters", "{'version':'v1','stage':'bytes'}", &a);
    assert_false(kb_json_bool(expect(&a, "pass", "")->head, "held", true));
    const cJSON *head = driven_find(&a, "counters")->head, *metrics = kb_json_get(head, "metrics");
    assert_string_equal(kb_json_text(head, "source", ""), "cupti range profiler");
    assert_true(kb_json_bool(head, "cold", false));
    assert_int_equal(kb_json_int(head, "passes", 0), 3);
    const cJSON *steps = kb_json_get(head, "steps_ms");
    assert_true(kb_json_number(steps, "release", -1) >= 0 && kb_json_number(steps, "passes", -1) >= 0 &&
                kb_json_number(steps, "config", -1) >= 0);
    assert_true(kb_json_number(metrics, "dram_read_bytes", 0) == 1000);
    double both = kb_json_number(metrics, "dram_read_bytes", 0) + kb_json_number(metrics, "dram_write_bytes", 0);
    assert_true(kb_json_number(metrics, "dram_bytes", 0) == both && both > 1000);
    assert_true(cJSON_IsNull(kb_json_get(metrics, "l2_bytes")));
    assert_string_equal(kb_json_text(metrics, "l2_bytes_reason", ""), "this chip has no such counter");
    assert_null(kb_json_get(metrics, "instructions")); // of another stage
    const cJSON *about = kb_json_get(kb_json_get(head, "about"), "dram_bytes");
    assert_string_equal(kb_json_text(about, "peak", ""), "dram_bytes_per_s");
    assert_non_null(kb_json_get(kb_json_get(head, "peaks"), "dram_bytes_per_s"));
    driven_answer_free(&a);
    ask("counters", "{'version':'v1','stage':'all'}", &a);
    expect(&a, "pass", "");
    metrics = kb_json_get(driven_find(&a, "counters")->head, "metrics");
    assert_true(kb_json_number(metrics, "flops_f32", 0) > 0 && kb_json_number(metrics, "instructions", 0) > 0 &&
                kb_json_number(metrics, "dram_bytes", 0) > 0);
    driven_answer_free(&a);
    ask("sections", SECTIONS, &a); // and sampling is taken again
    assert_true(kb_json_bool(expect(&a, "pass", "")->head, "held", false));
    driven_answer_free(&a);
    ask("release", "{}", &a);
    assert_false(kb_json_bool(expect(&a, "pass", "")->head, "held", true));
    driven_answer_free(&a);
    end();
}

// What failed for good is not tried at each save; a busy hardware is.
static void refusals_are_said_and_remembered(void **state)
{
    (void)state;
    struct driven_answer a;
    begin("", "pcs_enable:1=26; pcs_enable:2=35");
    ask("sections", SECTIONS, &a);
    const struct kb_frame *done = expect(&a, "na", "another process holds the profiling hardware");
    assert_non_null(strstr(kb_json_text(done->head, "remedy", ""), "retry"));
    assert_string_equal(kb_json_text(driven_find(&a, "rung")->head, "status", ""), "na");
    driven_answer_free(&a);
    ask("sections", SECTIONS, &a);
    done = expect(&a, "na", "no permission to profile this GPU");
    assert_non_null(strstr(kb_json_text(done->head, "remedy", ""), "NVreg_RestrictProfilingToAdminUsers=0"));
    assert_non_null(strstr(kb_json_text(done->head, "remedy", ""), "SYS_ADMIN"));
    driven_answer_free(&a);
    ask("sections", SECTIONS, &a); // the third enable would work, but nobody asked to retry
    expect(&a, "na", "no permission");
    driven_answer_free(&a);
    ask("counters", "{'version':'v1','stage':'bytes'}", &a);
    expect(&a, "na", "no permission");
    driven_answer_free(&a);
    ask("sections", "{'version':'v1','retry':true}", &a);
    expect(&a, "pass", "");
    driven_answer_free(&a);
    end();
}

// What one of the two lacks does not speak for the other.
static void counters_go_on_without_sampling(void **state)
{
    (void)state;
    struct driven_answer a;
    begin("", "pcs_enable=43");
    ask("sections", SECTIONS, &a);
    const struct kb_frame *done = expect(&a, "na", "MIG instance");
    assert_non_null(strstr(kb_json_text(done->head, "remedy", ""), "whole GPU"));
    driven_answer_free(&a);
    ask("counters", "{'version':'v1','stage':'bytes'}", &a);
    expect(&a, "pass", "");
    driven_answer_free(&a);
    ask("sections", SECTIONS, &a);
    expect(&a, "na", "MIG instance");
    driven_answer_free(&a);
    end();
    begin("", "range_enable=27");
    ask("counters", "{'version':'v1','stage':'bytes'}", &a);
    expect(&a, "na", "does not support");
    driven_answer_free(&a);
    ask("sections", SECTIONS, &a);
    expect(&a, "pass", "");
    driven_answer_free(&a);
    end();
}

static void losses_are_told(void **state)
{
    (void)state;
    struct driven_answer a;
    begin("", "function=k; drop_below=31");
    ask("sections", SECTIONS, &a);
    expect(&a, "pass", "");
    const cJSON *head = driven_find(&a, "sections")->head;
    assert_true(kb_json_number(head, "dropped", 0) > 0);
    assert_int_equal(kb_json_int(head, "tries", 0), 5);
    driven_answer_free(&a);
    end();
}

static void only_one_stage_may_fail(void **state)
{
    (void)state;
    struct driven_answer a;
    begin("", "range_enable:3=8"); // the one of the "sass" metrics
    ask("counters", "{'version':'v1','stage':'all'}", &a);
    expect(&a, "pass", "");
    const cJSON *metrics = kb_json_get(driven_find(&a, "counters")->head, "metrics");
    assert_true(kb_json_number(metrics, "dram_bytes", 0) > 0);
    assert_true(cJSON_IsNull(kb_json_get(metrics, "flops_f32")));
    assert_non_null(strstr(kb_json_text(metrics, "flops_f32_reason", ""), "ran out of memory"));
    driven_answer_free(&a);
    end();
}

static void other_names_of_a_metric(void **state)
{
    (void)state;
    struct driven_answer a;
    begin("", "lacks=dram__bytes_read");
    ask("counters", "{'version':'v1','stage':'bytes'}", &a);
    expect(&a, "pass", "");
    const cJSON *metrics = kb_json_get(driven_find(&a, "counters")->head, "metrics");
    assert_true(kb_json_number(metrics, "dram_read_bytes", 0) > 0 && kb_json_number(metrics, "dram_bytes", 0) > 0);
    assert_null(kb_json_get(metrics, "dram_read_bytes_reason"));
    driven_answer_free(&a);
    end();
}

static void oddities(void **state)
{
    (void)state;
    struct driven_answer a;
    struct kb_frame hello;
    start("", "", &hello);
    kb_frame_free(&hello);
    ask("sections", SECTIONS, &a);
    expect(&a, "fail", "no bench was prepared");
    driven_answer_free(&a);
    prepare();
    ask("counters", "{'version':'v1'}", &a);
    expect(&a, "fail", "not loaded");
    driven_answer_free(&a);
    ask("dance", "{}", &a);
    expect(&a, "fail", "no request 'dance'");
    driven_answer_free(&a);
    ask("release", "{}", &a); // nothing is held
    expect(&a, "pass", "");
    driven_answer_free(&a);
    ask("hold", "{}", &a); // ahead of any version
    assert_true(kb_json_bool(expect(&a, "pass", "")->head, "held", false));
    driven_answer_free(&a);
    end();
}

static void lost_context_ends_it(void **state)
{
    (void)state;
    struct driven_answer a;
    struct kb_frame f;
    bool prepared = false;
    for (int n = 1; !prepared; n++) { // the first launch behind those that prepare
        char *script = kb_format("launch:%d=700", n);
        assert_true(n < 200);
        start(script, "", &f);
        kb_frame_free(&f);
        send_prepare(&a);
        prepared = !strcmp(kb_json_text(driven_find(&a, "done")->head, "status", ""), "pass");
        driven_answer_free(&a);
        if (!prepared)
            driven_stop(&worker);
        free(script);
    }
    check();
    ask("sections", SECTIONS, &a);
    const struct kb_frame *done = expect(&a, "fail", "");
    assert_true(kb_json_bool(done->head, "poisoned", false));
    driven_answer_free(&a);
    assert_false(driven_next(&worker, &f));
    assert_int_equal(driven_stop(&worker), 0);
}

static void no_gpu_is_said(void **state)
{
    (void)state;
    struct kb_frame hello, f;
    static const char *const devices[] = {"cuda", "cpu"};
    for (int i = 0; i < 2; i++) {
        const char *args[] = {"profile", "--device", devices[i], NULL};
        setenv("KB_FAKE_CUDA", "init=100", 1);
        driven_start(&worker, args);
        assert_true(driven_next(&worker, &hello));
        const cJSON *failed = kb_json_get(hello.head, "failed");
        assert_string_equal(kb_json_text(failed, "code", ""), "no_device");
        assert_true(cJSON_IsNull(kb_json_get(hello.head, "device")));
        kb_frame_free(&hello);
        assert_false(driven_next(&worker, &f));
        assert_int_equal(driven_stop(&worker), 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_of_a_version),
        cmocka_unit_test(counters_give_sampling_back),
        cmocka_unit_test(refusals_are_said_and_remembered),
        cmocka_unit_test(counters_go_on_without_sampling),
        cmocka_unit_test(losses_are_told),
        cmocka_unit_test(only_one_stage_may_fail),
        cmocka_unit_test(other_names_of_a_metric),
        cmocka_unit_test(oddities),
        cmocka_unit_test(lost_context_ends_it),
        cmocka_unit_test(no_gpu_is_said),
    };
    return cmocka_run_group_tests(tests, read_cubin, forget_cubin);
}
