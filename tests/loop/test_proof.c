// What a verdict does not stand on: found in the model, said in the document, and by the exit code if that is asked
// for.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "loop/proof.h"
#include "loop/report.h"
#include "support_program.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE_MS = 900000 };

static struct kb_model model;

static void apply(const char *text)
{
    cJSON *event = cJSON_Parse(text);
    assert_non_null(event);
    assert_int_equal(kb_model_apply(&model, event), 0);
    cJSON_Delete(event);
}

static void rung(const char *name, const char *status, const char *reason)
{
    char text[400];
    snprintf(
        text, sizeof text,
        "{\"type\":\"rung\",\"t_ms\":20,\"variant\":\"a\",\"version\":1,\"rung\":\"%s\",\"status\":\"%s\",\"ms\":1,"
        "\"reason\":%s%s%s}",
        name, status, reason ? "\"" : "", reason ? reason : "null", reason ? "\"" : "");
    apply(text);
}

// A version that passed `run` and `verify`, and of which races said this.
static void start(const char *races, const char *reason)
{
    kb_model_init(&model);
    apply("{\"type\":\"session\",\"t_ms\":0,\"bench\":{\"name\":\"b\"},\"headline\":0,\"focus\":\"a\",\"cases\":["
          "{\"index\":0,\"label\":\"64 x 4096\",\"not_run\":\"4096 x 4096 (64 rows were)\"},"
          "{\"index\":1,\"label\":\"1 x 1\",\"not_run\":null}],"
          "\"variants\":[{\"name\":\"a\",\"source\":\"a.cu\"}]}");
    apply("{\"type\":\"build\",\"t_ms\":1,\"variant\":\"a\",\"key\":\"k\",\"state\":\"started\"}");
    apply("{\"type\":\"build\",\"t_ms\":1,\"variant\":\"a\",\"key\":\"k\",\"state\":\"final\",\"version\":1}");
    rung("run", "pass", NULL);
    apply(
        "{\"type\":\"case\",\"t_ms\":3,\"variant\":\"a\",\"version\":1,\"rung\":\"verify\",\"case\":0,\"label\":"
        "\"64 x 4096\",\"status\":\"pass\",\"outputs\":[{\"arg\":\"y\",\"margin\":0.21},{\"arg\":\"z\",\"margin\":null,"
        "\"margin_reason\":\"bit for bit\"}]}");
    rung("verify", "pass", NULL);
    rung("races", races, reason);
    apply("{\"type\":\"done\",\"t_ms\":30,\"variant\":\"a\",\"version\":1,\"status\":\"pass\"}");
}

// The gaps as text, one a line; owned by the caller.
static char *gaps(bool *fail)
{
    struct kb_text out = {0};
    struct kb_ev_proof proof = kb_proof_of(&model, kb_model_current(&model, 0));
    for (int i = 0; i < proof.gaps_count; i++) {
        char *text = kb_gap_text(&proof.gaps[i]);
        kb_text_addf(&out, "%s\n", text);
        free(text);
    }
    *fail = !proof.proven;
    kb_proof_free(&proof);
    return out.data ? kb_text_take(&out) : kb_strdup("");
}

static void expect(const char *wanted, bool fails)
{
    bool fail;
    char *text = gaps(&fail);
    assert_string_equal(text, wanted);
    assert_int_equal(fail, fails);
    free(text);
    kb_model_free(&model);
}

static void gaps_of_a_version_that_passed(void **state)
{
    (void)state;
    start("pass", NULL);
    expect("NOT RUN: 4096 x 4096 (64 rows were)\n", false);
    start("na", "the CPU device does not run 'wgmma'");
    expect("not proven: races: the CPU device does not run 'wgmma'\nNOT RUN: 4096 x 4096 (64 rows were)\n", true);
    start("na", KB_WATCHED_ALREADY);
    expect("NOT RUN: 4096 x 4096 (64 rows were)\n", false);
    start("pass", "1 of 2 cases: 64 x 4096 would execute some 419 million instructions");
    expect("NOT RUN: 4096 x 4096 (64 rows were)\n"
           "NOT RUN: races in 1 of 2 cases: 64 x 4096 would execute some 419 million instructions\n",
           false);
    start("pass", "warning: 1 of 2 lanes");
    expect("NOT RUN: 4096 x 4096 (64 rows were)\n", false);
}

static void cases_and_inputs_that_were_not_tried(void **state)
{
    (void)state;
    start("pass", NULL);
    apply(
        "{\"type\":\"case\",\"t_ms\":3,\"variant\":\"a\",\"version\":1,\"rung\":\"verify\",\"case\":1,\"label\":\"1 x "
        "1\",\"status\":\"na\",\"reason\":\"it needs 9 GiB\",\"outputs\":[]}");
    expect("NOT RUN: 1 x 1: it needs 9 GiB\nNOT RUN: 4096 x 4096 (64 rows were)\n", true);
    start("pass", NULL);
    apply("{\"type\":\"rung\",\"t_ms\":40,\"variant\":\"a\",\"version\":1,\"rung\":\"verify\",\"status\":\"pass\","
          "\"not_tried\":[\"4096 x 4096: added inputs (no reference kernel)\"]}");
    expect("NOT RUN: 4096 x 4096 (64 rows were)\n"
           "not tried: 4096 x 4096: added inputs (no reference kernel)\n",
           true);
    start("pass", NULL);
    apply(
        "{\"type\":\"case\",\"t_ms\":3,\"variant\":\"a\",\"version\":1,\"rung\":\"verify\",\"case\":1,\"label\":\"1 x "
        "1\",\"status\":\"pass\",\"outputs\":[],\"not_tried\":[\"1 x 1: spikes\"]}");
    expect("NOT RUN: 4096 x 4096 (64 rows were)\nnot tried: 1 x 1: spikes\n", true);
}

static void a_failed_version_has_other_troubles(void **state)
{
    (void)state;
    start("fail", "a race");
    apply("{\"type\":\"done\",\"t_ms\":50,\"variant\":\"a\",\"version\":1,\"status\":\"fail\",\"rung\":\"races\"}");
    expect("", false);
}

static void margins(void **state)
{
    (void)state;
    const char *why;
    start("pass", NULL);
    const struct kb_model_version *v = kb_model_current(&model, 0);
    assert_true(kb_margin_of(v, 0, &why) == 0.21);
    assert_null(why);
    assert_true(isnan(kb_margin_of(v, 1, &why)));
    assert_non_null(why);
    // a recording of before
    apply("{\"type\":\"case\",\"t_ms\":3,\"variant\":\"a\",\"version\":1,\"rung\":\"verify\",\"case\":1,\"status\":"
          "\"pass\",\"outputs\":[{\"arg\":\"y\",\"tolerance\":{\"metric\":\"scaled\",\"bound\":4e-6},\"metrics\":{"
          "\"scaled\":1e-6}}]}");
    assert_true(kb_margin_of(v, 1, NULL) == 0.25);
    assert_true(kb_worst_margin(&model, v) == 0.25);
    struct kb_text table = {0};
    kb_report_table(&model, true, &table);
    assert_non_null(strstr(table.data, "of bound"));
    assert_non_null(strstr(table.data, " 0.25 "));
    kb_text_free(&table);
    kb_model_free(&model);
}

// ---- the program

static char dir[256];
static const char bench[] =
    "{ \"kbench\": 1, \"name\": \"twice\", \"params\": { \"n\": 4096 },\n"
    "  \"args\": [ { \"name\": \"x\", \"role\": \"input\", \"dtype\": \"f32\", \"shape\": [\"n\"] },\n"
    "    { \"name\": \"y\", \"role\": \"output\", \"dtype\": \"f32\", \"shape\": [\"n\"] },\n"
    "    { \"name\": \"n\", \"role\": \"scalar\", \"dtype\": \"i32\" } ],\n"
    "  \"cases\": [ { \"n\": 4096, \"time\": true, \"cpu\": { \"n\": 64 } }, { \"n\": 100 } ],\n"
    "  \"reference\": { \"source\": \"reference.cu\", \"kernel\": \"ref\", \"launch\": { \"grid\": [1], \"block\": "
    "[32] } },\n"
    "  \"variants\": [ { \"name\": \"k\", \"source\": \"k.cu\", \"kernel\": \"k\", \"launch\": { \"grid\": "
    "[\"ceil_div(n,64)\"], \"block\": [64] } } ] }\n";
static const char reference[] = "extern \"C\" __global__ void ref(const float *x, double *y, int n)\n"
                                "{ for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = 2.0 * x[i]; }\n";

// The kernel doubles; `refused` runs where `when` says so an instruction that the CPU device does not know.
static void write_bench(const char *when)
{
    char text[600];
    snprintf(dir, sizeof dir, "/tmp/kb-proof-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(
        text, sizeof text,
        "extern \"C\" __global__ void k(const float *x, float *y, int n)\n{\n"
        "    if (%s)\n        asm volatile(\"barrier.cluster.arrive.aligned;\\n\\tbarrier.cluster.wait.aligned;\" ::: "
        "\"memory\");\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n        y[i] = 2 * x[i];\n}\n",
        when);
    program_write(dir, "bench.json", bench);
    program_write(dir, "reference.cu", reference);
    program_write(dir, "k.cu", text);
}

static cJSON *run_once(const char *option, int exit_code)
{
    char *argv[] = {KB_BUILD_DIR "/kbench-tui", "--once", "--json", "--device", "cpu", "--no-history", dir,
                    (char *)(uintptr_t)option,  NULL};
    return program_document(argv, PATIENCE_MS, exit_code);
}

static const cJSON *gap_of(const cJSON *document, const char *kind, const char *what)
{
    const cJSON *gap, *variant = cJSON_GetArrayItem(kb_json_get(document, "variants"), 0);
    cJSON_ArrayForEach (gap, kb_json_get(variant, "gaps"))
        if (!strcmp(kb_json_text(gap, "kind", ""), kind) && !strcmp(kb_json_text(gap, "what", ""), what))
            return gap;
    return NULL;
}

static void what_nobody_reaches_is_proven(void **state)
{
    (void)state;
    write_bench("n < 0");
    cJSON *document = run_once("--require-proof", 0);
    const cJSON *variant = cJSON_GetArrayItem(kb_json_get(document, "variants"), 0),
                *first = cJSON_GetArrayItem(kb_json_get(variant, "cases"), 0);
    assert_true(cJSON_IsTrue(kb_json_get(variant, "proven")));
    assert_string_equal(kb_json_text(first, "label", ""), "64");
    assert_string_equal(kb_json_text(first, "not_run", ""), "4096 (64 n were)");
    assert_true(kb_json_number(first, "margin", NAN) == 0); // doubling is exact
    assert_non_null(gap_of(document, "not run", "4096 (64 n were)"));
    cJSON_Delete(document);
    kb_remove_tree(dir);
}

static void what_was_refused_is_not_proven(void **state)
{
    (void)state;
    write_bench("n == 100");
    cJSON *document = run_once(NULL, 0);
    const cJSON *variant = cJSON_GetArrayItem(kb_json_get(document, "variants"), 0),
                *races = gap_of(document, "not proven", "races");
    assert_true(cJSON_IsFalse(kb_json_get(variant, "proven")));
    assert_string_equal(kb_json_text(variant, "status", ""), "pass");
    assert_non_null(strstr(kb_json_text(races, "reason", ""), "barrier.cluster"));
    assert_non_null(strstr(kb_json_text(races, "reason", ""), "k.cu:4"));
    assert_non_null(gap_of(document, "not run", "100"));
    cJSON_Delete(document);
    cJSON_Delete(run_once("--require-proof", 1));
    kb_remove_tree(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_of_a_version_that_passed),       cmocka_unit_test(cases_and_inputs_that_were_not_tried),
        cmocka_unit_test(a_failed_version_has_other_troubles), cmocka_unit_test(margins),
        cmocka_unit_test(what_nobody_reaches_is_proven),       cmocka_unit_test(what_was_refused_is_not_proven),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
