// End to end with the real workers and the CPU device: what a newcomer without a GPU gets.
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
#include <unistd.h>

enum { PATIENCE_MS = 1800000 }; // of a hang
static char dir[256];

static void copy_bench(void)
{
    static const char *const names[] = {"bench.json",   "reference.cu", "naive.cu",
                                        "coalesced.cu", "shared.cu",    "tuned.cu"};
    snprintf(dir, sizeof dir, "%s/once-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < KB_COUNT(names); i++) {
        char *from = kb_format("%s/kernels/softmax/%s", KB_SOURCE_DIR, names[i]), *to = kb_path_join(dir, names[i]);
        char *data = NULL;
        size_t size;
        assert_int_equal(kb_file_read(from, 1 << 20, &data, &size, NULL), 0);
        assert_int_equal(kb_file_replace(to, data, size, NULL), 0);
        free(from);
        free(to);
        free(data);
    }
}

// The document of one run; owned by the caller.
static cJSON *run_once(int exit_code)
{
    char *argv[] = {KB_BUILD_DIR "/kbench-tui", "--once", "--json", "--device", "cpu", dir, NULL};
    return program_document(argv, PATIENCE_MS, exit_code);
}

static const cJSON *variant_of(const cJSON *document, const char *name)
{
    const cJSON *variant;
    cJSON_ArrayForEach (variant, kb_json_get(document, "variants"))
        if (!strcmp(kb_json_text(variant, "name", ""), name))
            return variant;
    fail_msg("no variant %s", name);
    return NULL;
}

static const cJSON *rung_of(const cJSON *variant, const char *name)
{
    const cJSON *rung;
    cJSON_ArrayForEach (rung, kb_json_get(variant, "rungs"))
        if (!strcmp(kb_json_text(rung, "rung", ""), name))
            return rung;
    fail_msg("no rung %s", name);
    return NULL;
}

static void rung_is(const cJSON *document, const char *variant, const char *rung, const char *status,
                    const char *reason)
{
    const cJSON *item = rung_of(variant_of(document, variant), rung);
    const char *why = kb_json_text(item, "reason", "");
    if (strcmp(kb_json_text(item, "status", ""), status) || !strstr(why, reason))
        fail_msg("%s %s: %s: %s", variant, rung, kb_json_text(item, "status", ""), why);
}

static void all_softmax_variants_are_right(void **state)
{
    (void)state;
    copy_bench();
    cJSON *document = run_once(0);
    const cJSON *variant;
    int count = 0;
    cJSON_ArrayForEach (variant, kb_json_get(document, "variants")) {
        const char *name = kb_json_text(variant, "name", "");
        rung_is(document, name, "compile", "pass", "");
        rung_is(document, name, "run", "pass", "");
        rung_is(document, name, "verify", "pass", "");
        rung_is(document, name, "time", "na", "CPU");
        const cJSON *resources = kb_json_get(variant, "resources");
        assert_true(kb_json_number(resources, "registers", 0) > 0);
        assert_string_equal(kb_json_text(resources, "limited_by", ""), "threads");
        assert_true(kb_json_number(kb_json_get(resources, "limits"), "registers", 0) >= 1);
        bool shares = !strcmp(name, "shared"), global = !strcmp(name, "naive"); // where they keep a row
        double dynamic = kb_json_number(resources, "dynamic_shared_bytes", -1);
        const cJSON *by_shared = kb_json_get(kb_json_get(resources, "limits"), "shared_memory");
        assert_true(shares ? dynamic > 0 && cJSON_IsNumber(by_shared) : dynamic >= 0);
        assert_true(!global || (dynamic == 0 && cJSON_IsNull(by_shared)));
        rung_is(document, name, "races", "pass", ""); // right ones are not accused
        assert_int_equal(cJSON_GetArraySize(kb_json_get(variant, "findings")), 0);
        count++;
    }
    assert_int_equal(count, 4);
    const cJSON *naive = variant_of(document, "naive"), *advice = kb_json_get(naive, "advice"),
                *step = cJSON_GetArrayItem(kb_json_get(advice, "steps"), 0);
    assert_string_equal(kb_json_text(advice, "limit", ""), "memory"); // a thread a row: nothing is coalesced
    assert_string_equal(kb_json_text(step, "file", ""), "naive.cu");
    assert_true(kb_json_int(step, "line", 0) > 0);
    assert_true(kb_json_number(kb_json_get(naive, "sass"), "instructions", 0) > 0 ||
                !strcmp(kb_json_text(rung_of(naive, "sass"), "status", ""), "na"));
    assert_true(cJSON_IsNull(kb_json_get(naive, "sampling")));
    assert_string_equal(kb_json_text(kb_json_get(document, "device"), "kind", ""), "cpu");
    cJSON_Delete(document);
    kb_remove_tree(dir);
}

// A file that no bench lists: nothing proves it, but all that is counted is there.
static void a_bare_kernel_is_counted(void **state)
{
    (void)state;
    copy_bench();
    char *bench = kb_path_join(dir, "bench.json"), *folder = kb_strdup(dir);
    assert_int_equal(unlink(bench), 0);
    strcat(dir, "/naive.cu");
    cJSON *document = run_once(0);
    const cJSON *variant = cJSON_GetArrayItem(kb_json_get(document, "variants"), 0);
    assert_string_equal(kb_json_text(rung_of(variant, "run"), "status", ""), "pass");
    assert_string_equal(kb_json_text(rung_of(variant, "verify"), "status", ""), "na");
    assert_true(kb_json_number(kb_json_get(kb_json_get(variant, "counters"), "metrics"), "global_sectors", 0) > 0);
    assert_int_equal(cJSON_GetArraySize(kb_json_get(variant, "sections")), 4);
    assert_string_equal(kb_json_text(kb_json_get(variant, "advice"), "limit", ""), "memory");
    cJSON_Delete(document);
    kb_remove_tree(folder);
    free(folder);
    free(bench);
}

static void broken_wrong_and_empty_sources_fail_where_they_should(void **state)
{
    (void)state;
    copy_bench();
    program_write(dir, "naive.cu",
                  "__global__ void softmax_naive(const float *x, float *y, int rows, int cols)\n{\n    oops;\n}\n");
    program_write(dir, "coalesced.cu", "");
    program_write(dir, "shared.cu",
                  "// wrong on purpose: copies\n"
                  "extern \"C\" __global__ void softmax_shared(const float *x, float *y, int rows, int cols)\n{\n"
                  "    for (long long r = blockIdx.x; r < rows; r += gridDim.x)\n"
                  "        for (int c = threadIdx.x; c < cols; c += blockDim.x)\n"
                  "            y[r * cols + c] = x[r * cols + c];\n}\n");
    cJSON *document = run_once(1);
    rung_is(document, "naive", "compile", "fail", "");
    const cJSON *error = cJSON_GetArrayItem(kb_json_get(variant_of(document, "naive"), "errors"), 0);
    assert_string_equal(kb_json_text(error, "file", ""), "naive.cu");
    assert_int_equal(kb_json_int(error, "line", 0), 3);
    assert_string_equal(kb_json_text(variant_of(document, "coalesced"), "status", ""), "fail");
    rung_is(document, "shared", "verify", "fail", "");
    char *shared = cJSON_PrintUnformatted(variant_of(document, "shared"));
    assert_non_null(strstr(shared, "\"where\":\"all of them\""));
    free(shared);
    rung_is(document, "tuned", "verify", "pass", "");
    cJSON_Delete(document);
    kb_remove_tree(dir);
}

// Each thread reads at clamped indices, so that all loads are in flight; what it reads beyond its own is never used.
static void make_clamped(const char *accept)
{
    static const char kernels[] =
        "__global__ void twice(const float *x, float *y, int n)\n{\n    float v[2];\n    int t = threadIdx.x;\n"
        "    for (int i = t; i < n; i += blockDim.x) y[i] = x[i];\n    __syncthreads();\n"
        "    for (int u = 0; u < 2; u++) v[u] = y[min(n - 1, t + u * 256)];\n    for (int u = 0; u < 2; u++)\n"
        "        if (t + u * 256 < n) y[t + u * 256] = 2 * v[u];\n}\n"
        "extern \"C\" __global__ void ref(const float *x, double *y, int n)\n{\n"
        "    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = 2.0 * x[i];\n}\n";
    snprintf(dir, sizeof dir, "%s/once-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(dir));
    char *bench = kb_format(
        "{ \"kbench\": 1, \"name\": \"clamped\", \"params\": { \"n\": 300 }, \"accept\": [ %s ],\n"
        "  \"cases\": [ { \"n\": 300, \"time\": true }, { \"n\": 290 } ], \"args\": [\n"
        "  { \"name\": \"x\", \"role\": \"input\", \"dtype\": \"f32\", \"shape\": [\"n\"] },\n"
        "  { \"name\": \"y\", \"role\": \"output\", \"dtype\": \"f32\", \"shape\": [\"n\"] },\n"
        "  { \"name\": \"n\", \"role\": \"scalar\", \"dtype\": \"i32\" } ],\n"
        "  \"reference\": { \"source\": \"k.cu\", \"kernel\": \"ref\", \"launch\": { \"grid\": 1, \"block\": 256 } },\n"
        "  \"variants\": [ { \"name\": \"k\", \"source\": \"k.cu\", \"kernel\": \"twice\",\n"
        "    \"launch\": { \"grid\": 1, \"block\": 256 } } ] }\n",
        accept);
    program_write(dir, "k.cu", kernels);
    program_write(dir, "bench.json", bench);
    free(bench);
}

static void a_race_is_accepted_by_name(void **state)
{
    static const char entry[] =
        "{ \"kind\": \"race\", \"kernel\": \"twice\", \"argument\": \"%s\", \"file\": \"k.cu\", "
        "\"reason\": \"clamped loads\" }";
    static const struct {
        const char *argument;
        bool accepted;
    } tried[] = {{"y", true}, {"x", false}, {NULL, false}};
    (void)state;
    for (size_t i = 0; i < KB_COUNT(tried); i++) {
        char *accept = tried[i].argument ? kb_format(entry, tried[i].argument) : kb_strdup("");
        make_clamped(accept);
        cJSON *document = run_once(tried[i].accepted ? 0 : 1);
        rung_is(document, "k", "races", tried[i].accepted ? "pass" : "fail", "");
        const cJSON *finding, *findings = kb_json_get(variant_of(document, "k"), "findings");
        int races = 0;
        cJSON_ArrayForEach (finding, findings) {
            if (strcmp(kb_json_text(finding, "kind", ""), "race"))
                continue; // of one warp
            races++;
            assert_string_equal(kb_json_text(finding, "label", ""), "290"); // the smallest case goes first
            assert_string_equal(kb_json_text(finding, "accepted", ""), tried[i].accepted ? "clamped loads" : "");
            assert_int_equal(kb_json_bool(finding, "fails", true), !tried[i].accepted);
        }
        assert_true(races > 0);
        cJSON_Delete(document);
        kb_remove_tree(dir);
        free(accept);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_softmax_variants_are_right),
        cmocka_unit_test(a_bare_kernel_is_counted),
        cmocka_unit_test(a_race_is_accepted_by_name),
        cmocka_unit_test(broken_wrong_and_empty_sources_fail_where_they_should),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
