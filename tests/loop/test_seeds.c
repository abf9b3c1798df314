// Further seeds, through the whole program on the CPU device: how many pass, and what failed before comes first.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "support_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE_MS = 900000 };

static char dir[256];
static const char bench[] =
    "{ \"kbench\": 1, \"name\": \"twice\", \"params\": { \"n\": 100 },\n"
    "  \"args\": [ { \"name\": \"x\", \"role\": \"input\", \"dtype\": \"f32\", \"shape\": [\"n\"] },\n"
    "    { \"name\": \"y\", \"role\": \"output\", \"dtype\": \"f32\", \"shape\": [\"n\"] },\n"
    "    { \"name\": \"n\", \"role\": \"scalar\", \"dtype\": \"i32\" } ],\n"
    "  \"cases\": [ { \"n\": 64, \"time\": true }, { \"n\": 100 } ],\n"
    "  \"reference\": { \"source\": \"reference.cu\", \"kernel\": \"ref\", \"launch\": { \"grid\": [1], \"block\": "
    "[32] } },\n"
    "  \"variants\": [ { \"name\": \"k\", \"source\": \"k.cu\", \"kernel\": \"k\", \"launch\": { \"grid\": "
    "[\"ceil_div(n,64)\"], \"block\": [64] } } ] }\n";
static const char reference[] = "extern \"C\" __global__ void ref(const float *x, double *y, int n)\n"
                                "{ for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = 2.0 * x[i]; }\n";

// Doubles, and does so wrong where the first values are such as one seed in six has them.
static void write_kernel(const char *wrong)
{
    char text[400];
    snprintf(text, sizeof text,
             "extern \"C\" __global__ void k(const float *x, float *y, int n)\n{\n"
             "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n        y[i] = %s ? 3 * x[i] : 2 * "
             "x[i];\n}\n",
             wrong);
    program_write(dir, "k.cu", text);
}

// The variant of one run's document, which the caller owns.
static const cJSON *run_once(const char *seeds, int exit_code, cJSON **document)
{
    char *argv[] = {KB_BUILD_DIR "/kbench-tui",
                    "--once",
                    "--json",
                    "--device",
                    "cpu",
                    "--no-profile",
                    dir,
                    seeds ? "--seeds" : NULL,
                    (char *)(uintptr_t)seeds,
                    NULL};
    *document = program_document(argv, PATIENCE_MS, exit_code);
    return cJSON_GetArrayItem(kb_json_get(*document, "variants"), 0);
}

static const char *reason_of(const cJSON *variant, const char *name)
{
    const cJSON *rung;
    cJSON_ArrayForEach (rung, kb_json_get(variant, "rungs"))
        if (!strcmp(kb_json_text(rung, "rung", ""), name))
            return kb_json_text(rung, "reason", "");
    return "";
}

static void set_up(const char *wrong)
{
    snprintf(dir, sizeof dir, "/tmp/kb-seeds-XXXXXX");
    assert_non_null(mkdtemp(dir));
    program_write(dir, "bench.json", bench);
    program_write(dir, "reference.cu", reference);
    write_kernel(wrong);
}

static void a_right_kernel_passes_all(void **state)
{
    (void)state;
    cJSON *document;
    set_up("false");
    const cJSON *seeds = kb_json_get(run_once("5", 0, &document), "seeds");
    assert_int_equal(kb_json_int(seeds, "tried", 0), 5);
    assert_int_equal(kb_json_int(seeds, "passed", 0), 5);
    assert_int_equal(cJSON_GetArraySize(kb_json_get(seeds, "list")), 5);
    assert_true(cJSON_IsNull(kb_json_get(seeds, "first_failed")));
    cJSON_Delete(document);
    assert_true(cJSON_IsNull(kb_json_get(run_once(NULL, 0, &document), "seeds")));
    cJSON_Delete(document);
    kb_remove_tree(dir);
}

static void what_failed_is_tried_first(void **state)
{
    (void)state;
    cJSON *document;
    set_up("n == 100 && x[0] > 1 && x[0] < 1.9f && fabsf(x[0] + x[1]) > 0.1f && x[0] != x[1] && fabsf(x[99]) < 50");
    const cJSON *variant = run_once("40", 1, &document), *seeds = kb_json_get(variant, "seeds");
    assert_int_equal(kb_json_int(seeds, "tried", 0), 40);
    assert_in_range(kb_json_int(seeds, "passed", 0), 10, 39);
    assert_non_null(kb_json_text(seeds, "first_failed", NULL));
    assert_non_null(strstr(reason_of(variant, "verify"), "of 40 seeds fail"));
    cJSON_Delete(document);

    variant = run_once(NULL, 1, &document);
    const cJSON *first = cJSON_GetArrayItem(kb_json_get(kb_json_get(variant, "seeds"), "list"), 0),
                *bad = cJSON_GetArrayItem(kb_json_get(variant, "cases"), 1);
    assert_true(kb_json_bool(first, "again", false));
    assert_string_equal(kb_json_text(first, "status", ""), "fail");
    assert_non_null(strstr(reason_of(variant, "verify"), "which failed before: 100"));
    assert_string_equal(kb_json_text(bad, "status", ""), "fail"); // with its figures
    assert_true(kb_json_number(kb_json_get(bad, "metrics"), "mismatches", 0) > 0);
    cJSON_Delete(document);

    write_kernel("false");
    for (int i = 0; i < 4; i++) { // three that pass, and it is forgotten
        variant = run_once(NULL, 0, &document);
        first = cJSON_GetArrayItem(kb_json_get(kb_json_get(variant, "seeds"), "list"), 0);
        assert_string_equal(kb_json_text(first, "status", "none"), i < 3 ? "pass" : "none");
        cJSON_Delete(document);
    }
    kb_remove_tree(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_kernel_passes_all),
        cmocka_unit_test(what_failed_is_tried_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
