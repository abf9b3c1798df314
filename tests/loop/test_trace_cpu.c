// The tracer end to end with the real workers and the CPU device, where a tick is an instruction of the warp: what the
// sections of a kernel add up to, however its blocks are left, and what cannot be traced.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "support_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE_MS = 240000 };
static char dir[256];

static const char bench[] =
    "{ \"kbench\": 1, \"name\": \"marks\", \"params\": { \"n\": 640 },\n"
    "  \"args\": [ { \"name\": \"x\", \"role\": \"input\", \"dtype\": \"f32\", \"shape\": [\"n\"] },\n"
    "    { \"name\": \"y\", \"role\": \"output\", \"dtype\": \"f32\", \"shape\": [\"n\"] },\n"
    "    { \"name\": \"n\", \"role\": \"scalar\", \"dtype\": \"i32\" } ],\n"
    "  \"cases\": [ { \"n\": 640, \"time\": true }, { \"n\": 100 } ],\n"
    "  \"reference\": { \"source\": \"reference.cu\", \"kernel\": \"ref\", \"launch\": { \"grid\": [1], \"block\": "
    "[32] } },\n"
    "  \"variants\": [ { \"name\": \"marked\", \"source\": \"marked.cu\", \"kernel\": \"marked<4>\",\n"
    "      \"launch\": { \"grid\": [\"ceil_div(n,64)\"], \"block\": [64] } },\n"
    "    { \"name\": \"plain\", \"source\": \"plain.cu\", \"kernel\": \"plain\", \"launch\": { \"grid\": "
    "[\"ceil_div(n,64)\"], "
    "\"block\": [64] } },\n"
    "    { \"name\": \"wrong\", \"source\": \"wrong.cu\", \"kernel\": \"wrong\", \"launch\": { \"grid\": [10], "
    "\"block\": [64] } "
    "},\n"
    "    { \"name\": \"odd\", \"source\": \"odd.cu\", \"kernel\": \"odd\", \"launch\": { \"grid\": "
    "[\"ceil_div(n,64)\"], \"block\": "
    "[64] } } ] }\n";
static const char reference[] = "extern \"C\" __global__ void ref(const float *x, double *y, int n)\n"
                                "{ for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = 2.0 * x[i] + 3; }\n";
// Sections in a loop that is left by continue, in a called function, in a lambda, by hand, behind an early return.
static const char marked[] = "#include \"kb_section.cuh\"\n"
                             "// a text that looks like one: \"//kb: section no\"\n"
                             "__device__ float helper(float v)\n"
                             "{\n"
                             "    KB_SECTION(\"by hand\");\n"
                             "    v = v * 2;\n"
                             "    KB_SECTION_END();\n"
                             "    return v;\n"
                             "}\n"
                             "__device__ float other(float v)\n"
                             "{\n"
                             "    //kb: section inside\n"
                             "    return v + 1;\n"
                             "}\n"
                             "template <int ROUNDS> __global__ void marked(const float *x, float *y, int n)\n"
                             "{\n"
                             "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "    float add = other(0);\n"
                             "    if (i >= n)\n"
                             "        return;\n"
                             "    //kb: section load\n"
                             "    float v = x[i], sum = 0;\n"
                             "    //kb: section loop\n"
                             "#pragma unroll 1\n"
                             "    for (int k = 0; k < ROUNDS; k++) {\n"
                             "        //kb: section odd rounds\n"
                             "        if (k % 2)\n"
                             "            continue;\n"
                             "        //kb: section even rounds\n"
                             "        sum += add;\n"
                             "    }\n"
                             "    auto last = [&](float w) {\n"
                             "        //kb: section lambda\n"
                             "        return other(w);\n"
                             "    };\n"
                             "    //kb: section store\n"
                             "    y[i] = last(helper(v)) + sum;\n"
                             "}\n";
static const char plain[] = "extern \"C\" __global__ void plain(const float *x, float *y, int n)\n"
                            "{\n"
                            "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                            "    if (i < n)\n"
                            "        y[i] = 2 * x[i] + 3;\n"
                            "}\n";
static const char odd[] = "extern \"C\" __global__ void odd(const float *x, float *y, int n)\n"
                          "{\n"
                          "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                          "    if (i < n) //kb: section store\n"
                          "        y[i] = 2 * x[i] + 3;\n"
                          "}\n";
static const char wrong[] = "extern \"C\" __global__ void wrong(const float *x, float *y, int n)\n"
                            "{ int i = blockIdx.x * 64 + threadIdx.x; if (i < n) y[i] = x[i]; }\n";

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "%s/trace-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(dir))
        return -1;
    program_write(dir, "bench.json", bench);
    program_write(dir, "reference.cu", reference);
    program_write(dir, "marked.cu", marked);
    program_write(dir, "plain.cu", plain);
    program_write(dir, "odd.cu", odd);
    program_write(dir, "wrong.cu", wrong);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return kb_remove_tree(dir);
}

// What it printed; owned by the caller.
static char *run_trace(const char *variant, const char *option, const char *value, int exit_code, bool errors)
{
    char *argv[] = {KB_BUILD_DIR "/kbench-tui",
                    "--device",
                    "cpu",
                    "--no-history",
                    "trace",
                    dir,
                    (char *)variant,
                    (char *)option,
                    (char *)value,
                    NULL};
    struct kb_capture ran = program_run(argv, PATIENCE_MS, exit_code);
    const struct kb_text *wanted = errors ? &ran.err : &ran.out;
    char *text = kb_strdup(wanted->data ? wanted->data : "");
    kb_capture_free(&ran);
    return text;
}

static cJSON *event_of(const char *variant)
{
    char *text = run_trace(variant, "--json", NULL, 0, false);
    cJSON *event = cJSON_Parse(text);
    assert_non_null(event);
    assert_string_equal(kb_json_text(event, "state", ""), "done");
    free(text);
    return event;
}

static int spans_of(const cJSON *event, const char *name)
{
    const cJSON *item;
    cJSON_ArrayForEach (item, kb_json_get(event, "sections")) {
        if (!strcmp(kb_json_text(item, "name", ""), name))
            return (int)kb_json_int(item, "spans", -2);
    }
    return -1;
}

static void sections_are_counted(void **state)
{
    enum { WARPS = 20 };
    (void)state;
    cJSON *event = event_of("marked");
    const cJSON *launch = cJSON_GetArrayItem(kb_json_get(event, "launches"), 0), *item;
    assert_true(cJSON_IsTrue(kb_json_get(event, "right")));
    assert_true(kb_json_bool(event, "emulated", false));
    assert_true(cJSON_IsNull(kb_json_get(event, "ticks_per_us")));
    assert_int_equal(kb_json_int(launch, "recorded", 0), 10);
    assert_int_equal(kb_json_int(launch, "lost_events", -1), 0);
    assert_int_equal(kb_json_int(launch, "unfinished_warps", -1), 0);
    assert_int_equal(spans_of(event, "load"), WARPS);
    assert_int_equal(spans_of(event, "odd rounds"), 4 * WARPS);
    assert_int_equal(spans_of(event, "even rounds"), 2 * WARPS);
    assert_int_equal(spans_of(event, "by hand"), WARPS);
    // called outside of every section it is one itself; called from a lambda's section it counts for that
    assert_int_equal(spans_of(event, "inside"), WARPS);
    assert_int_equal(spans_of(event, "lambda"), WARPS);
    assert_int_equal(spans_of(event, "no"), -1);
    double shares = 0;
    cJSON_ArrayForEach (item, kb_json_get(event, "sections"))
        shares += kb_json_number(item, "share", 0);
    assert_true(fabs(shares - 1) < 1e-9);
    const cJSON *slowdown = kb_json_get(event, "slowdown");
    assert_true(kb_json_number(slowdown, "traced", 0) > kb_json_number(slowdown, "plain", 0));
    assert_true(fabs(kb_json_number(slowdown, "ratio", 0) -
                     kb_json_number(slowdown, "traced", 0) / kb_json_number(slowdown, "plain", 1)) < 1e-9);
    assert_int_equal(cJSON_GetArraySize(kb_json_get(event, "rows")), 10);
    cJSON_Delete(event);
}

// Without a marker: the warps themselves.
static void whole_kernels_are_traced(void **state)
{
    (void)state;
    cJSON *event = event_of("plain");
    assert_int_equal(spans_of(event, "whole kernel"), 20);
    assert_int_equal(cJSON_GetArraySize(kb_json_get(event, "sections")), 1);
    cJSON_Delete(event);
}

static void text_and_frames(void **state)
{
    (void)state;
    char *text = run_trace("marked", NULL, NULL, 0, false);
    assert_non_null(strstr(text, "emulated: instructions of the warp, not time"));
    assert_non_null(strstr(text, "marked.cu:21"));
    free(text);
    text = run_trace("marked", "--case", "1", 0, false);
    assert_non_null(strstr(text, "all 2 blocks"));
    free(text);
    text = run_trace("marked", "--snapshot", "80x24", 0, false);
    assert_non_null(strstr(text, "trace  marked v1"));
    free(text);
}

static void what_cannot_be_traced(void **state)
{
    (void)state;
    char *text = run_trace("odd", NULL, NULL, 1, true);
    if (!strstr(text, "odd.cu:4") || !strstr(text, "in the middle of a statement"))
        fail_msg("%s", text);
    free(text);
    text = run_trace("wrong", NULL, NULL, 1, true);
    if (!strstr(text, "only a version that passed is traced"))
        fail_msg("%s", text);
    free(text);
    text = run_trace("nosuch", NULL, NULL, 2, true);
    if (!strstr(text, "no variant is called \"nosuch\""))
        fail_msg("%s", text);
    free(text);
    text = run_trace("marked", "--case", "7", 2, true);
    assert_non_null(strstr(text, "no case is called \"7\""));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_are_counted),
        cmocka_unit_test(whole_kernels_are_traced),
        cmocka_unit_test(text_and_frames),
        cmocka_unit_test(what_cannot_be_traced),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
