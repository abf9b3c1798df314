// End to end with the real workers and the CPU device: a version that fails names the line that it fails by.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "support_program.h"
#include "support_schema.h"

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

// Sums of 256 neighbours: x has n elements, y n/256.
static const char bench[] =
    "{'kbench': 1, 'name': 'sums', 'params': {'n': 4096}, 'cases': [{'n': 4096}, {'n': 512, 'name': 'two'}],"
    "'args': [{'name': 'x', 'role': 'input', 'dtype': 'f32', 'shape': ['n']},"
    "         {'name': 'y', 'role': 'output', 'dtype': 'f32', 'shape': ['n/256']},"
    "         {'name': 'n', 'role': 'scalar', 'dtype': 'i32'}],"
    "'reference': {'source': 'reference.cu', 'kernel': 'sums', 'launch': {'grid': 'n/256', 'block': 1}},"
    "'variants': [{'name': 'k', 'source': 'k.cu', 'kernel': 'k', 'launch': {'grid': 'n/256', 'block': 256}}]}";
static const char reference[] = "extern \"C\" __global__ void sums(const float *x, double *y, int n) {\n"
                                "  double s = 0;\n"
                                "  for (int i = 0; i < 256; i++) s += x[blockIdx.x * 256 + i];\n"
                                "  y[blockIdx.x] = s; }\n";
#define HEAD "__global__ void k(const float *x, float *y, int n) {\n"

static void write_bench(const char *quoted, const char *source)
{
    char *json = kb_strdup(quoted);
    for (char *c = json; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    program_write(dir, "bench.json", json);
    program_write(dir, "reference.cu", source);
    free(json);
}

static void make_bench(void)
{
    snprintf(dir, sizeof dir, "%s/why-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(dir));
    write_bench(bench, reference);
}

// What one run says; owned by the caller. json: the document, else the text for people.
static char *once(const char *json)
{
    char *argv[] = {KB_BUILD_DIR "/kbench-tui", "--once", "--device", "cpu", "--no-history", dir, (char *)json, NULL};
    return program_text(argv, PATIENCE_MS, 1);
}

static const cJSON *rung_of(const cJSON *document, const char *name)
{
    const cJSON *rung, *variant = cJSON_GetArrayItem(kb_json_get(document, "variants"), 0);
    cJSON_ArrayForEach (rung, kb_json_get(variant, "rungs"))
        if (!strcmp(kb_json_text(rung, "rung", ""), name))
            return rung;
    fail_msg("no rung %s", name);
    return NULL;
}

static cJSON *document_of(const char *source)
{
    program_write(dir, "k.cu", source);
    char *text = once("--json"), *schema_text = NULL;
    size_t size;
    assert_int_equal(kb_file_read(KB_SOURCE_DIR "/docs/once.schema.json", 1 << 20, &schema_text, &size, NULL), 0);
    cJSON *document = cJSON_Parse(text), *schema = cJSON_Parse(schema_text);
    struct kb_text why = {0};
    if (!document || (schema_check(schema, document, &why) | schema_check_reasons(document, &why)))
        fail_msg("%s", document ? why.data : text);
    kb_text_free(&why);
    cJSON_Delete(schema);
    free(schema_text);
    free(text);
    return document;
}

static void fails(const char *source, const char *rung, const char *says)
{
    cJSON *document = document_of(source);
    const cJSON *failed = rung_of(document, rung);
    if (strcmp(kb_json_text(failed, "status", ""), "fail") || !strstr(kb_json_text(failed, "reason", ""), says))
        fail_msg("%s: %s: %s\nwanted: %s", rung, kb_json_text(failed, "status", ""), kb_json_text(failed, "reason", ""),
                 says);
    cJSON_Delete(document);
}

static const char racy[] = HEAD "  __shared__ float part[256];\n"
                                "  part[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];\n"
                                "  __syncthreads();\n"
                                "  for (int k = 128; k; k /= 2)\n"
                                "    if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];\n"
                                "  if (threadIdx.x == 0) y[blockIdx.x] = part[0]; }\n";

static void wrong_values_name_the_race(void **state)
{
    (void)state;
    fails(racy, "verify", "race at k.cu:6: thread (");
    fails(racy, "verify", "elements are wrong");
    cJSON *document = document_of(racy);
    assert_string_equal(kb_json_text(rung_of(document, "races"), "status", ""), "fail");
    const cJSON *variant = cJSON_GetArrayItem(kb_json_get(document, "variants"), 0);
    assert_string_equal(kb_json_text(variant, "status", ""), "fail");
    cJSON_Delete(document);
    char *text = once(NULL), *said = strstr(text, "k: verify failed: race at k.cu:6: ");
    assert_non_null(said);
    assert_null(strstr(said + 20, "k.cu:6: race: ")); // said once
    free(text);
}

static void wrong_values_name_what_nobody_wrote(void **state)
{
    (void)state;
    fails(HEAD "  __shared__ float part[256];\n"
               "  if (threadIdx.x != 7) part[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];\n"
               "  __syncthreads();\n"
               "  float s = 0;\n"
               "  for (int i = 0; i < 256; i++) s += part[i];\n"
               "  if (threadIdx.x == 0) y[blockIdx.x] = s; }\n",
          "run", " reads part[7] of shared memory, which nobody wrote; ");
}

// The line of a header that was inlined is not where the kernel is read: both are told.
static void a_helper_is_told_with_its_caller(void **state)
{
    (void)state;
    program_write(dir, "helper.cuh",
                  "__device__ inline float at(const float *p, int i) {\n"
                  "  return p[i + 1];\n"
                  "}\n"
                  "__device__ inline float twice(const float *p, int i) {\n"
                  "  return 2 * at(p, i);\n"
                  "}\n");
    fails("#include \"helper.cuh\"\n" HEAD "  float s = 0;\n"
          "  for (int i = 0; i < 256; i++)\n"
          "    s += twice(x, blockIdx.x * 256 + i);\n"
          "  if (threadIdx.x == 0) y[blockIdx.x] = s; }\n",
          "run",
          "1 past its end (512 elements), by thread (0,0,0) of block (1,0,0), at helper.cuh:2, called at k.cu:5");
}

// An array of structs is read by members; it is the struct that has an index.
static void arrays_have_their_names_and_elements(void **state)
{
    (void)state;
    fails("struct pair { float most, sum; };\n" HEAD
          "  __shared__ pair pairs_of_all_warps_of_a_block_with_a_name_that_is_long_enough[8];\n"
          "  pair *p = pairs_of_all_warps_of_a_block_with_a_name_that_is_long_enough;\n"
          "  if (threadIdx.x % 32 == 0) p[threadIdx.x / 32] = {x[threadIdx.x], 1};\n"
          "  __syncthreads();\n"
          "  if (threadIdx.x < 32) y[threadIdx.x % 2] = p[threadIdx.x].sum; }\n",
          "run",
          "at pairs_of_all_warps_of_a_block_with_a_name_that_is_long_enough[8], 1 past its end (8 elements), by thread "
          "(8,0,0)");
    fails(HEAD "  const float4 *v = (const float4 *)(x + 4 * threadIdx.x);\n"
               "  float4 a = *(const float4 *)((const char *)v + (threadIdx.x == 127 && n == 512 ? 16 : 0));\n"
               "  if (threadIdx.x < 128) y[blockIdx.x] = a.x + a.y + a.z + a.w; }\n",
          "run", "kernel k: read of 16 bytes at x[512], 1 past its end (512 elements)");
}

static void variables_that_nobody_set_are_told(void **state)
{
    (void)state;
    fails("__constant__ float weights[256];\n" HEAD "  float s = 0;\n"
          "  for (int i = 0; i < 256; i++) s += weights[i] * x[blockIdx.x * 256 + i];\n"
          "  if (threadIdx.x == 0) y[blockIdx.x] = s; }\n",
          "verify", "perhaps unset variable at k.cu:4: reads weights, which nobody set: all of it is zero; ");
    // One that the kernel itself writes later is meant to begin with zero.
    cJSON *document = document_of("__device__ int calls;\n" HEAD "  if (threadIdx.x) return;\n"
                                  "  int before = calls;\n"
                                  "  y[blockIdx.x] = before;\n"
                                  "  if (blockIdx.x == 0) calls = before + 1; }\n");
    char *text = kb_json_line(document);
    assert_null(strstr(text, "unset_variable"));
    free(text);
    cJSON_Delete(document);
}

static void types_that_differ_are_told(void **state)
{
    (void)state;
    fails("#include <cuda_fp16.h>\n"
          "__global__ void k(const half *x, float *y, int n) { y[blockIdx.x] = x[n - 1]; }\n",
          "check", "x is f32 in the bench, half * in k.cu:2");
    // A wider type may hold several values: no fault, but a reason where it fails.
    fails("__global__ void k(const float *x, double *y, int n) { if (!threadIdx.x) y[0] = x[blockIdx.x]; }\n", "run",
          "(y is f32 in the bench, double * in k.cu:1)");
}

static void what_finds_nothing_stays_as_it_was(void **state)
{
    (void)state;
    cJSON *document = document_of(HEAD "  if (threadIdx.x == 0) y[blockIdx.x] = 0; }\n");
    const char *reason = kb_json_text(rung_of(document, "verify"), "reason", "");
    if (!strstr(reason, "y: 16 of 16 elements are wrong") || strstr(reason, "k.cu"))
        fail_msg("%s", reason);
    assert_string_equal(kb_json_text(rung_of(document, "races"), "status", ""), "pass");
    cJSON_Delete(document);
}

// Sums of rows, the larger ones by another way. rows may be anything, as an odd case shows.
static const char rows_bench[] =
    "{'kbench': 1, 'name': 'rows', 'params': {'rows': 3, 'cols': 33},"
    "'cases': [{'rows': 3}, {'rows': 5000, 'cols': 2048}],"
    "'args': [{'name': 'x', 'role': 'input', 'dtype': 'f32', 'shape': ['rows', 'cols']},"
    "         {'name': 'y', 'role': 'output', 'dtype': 'f32', 'shape': ['rows']},"
    "         {'name': 'cols', 'role': 'scalar', 'dtype': 'i32'}],"
    "'reference': {'source': 'reference.cu', 'kernel': 'sums', 'launch': {'grid': 'rows', 'block': 1}},"
    "'variants': [{'name': 'k', 'source': 'k.cu', 'kernel': 'k', 'launch': {'grid': 'rows', 'block': 256}}]}";
static const char rows_reference[] = "extern \"C\" __global__ void sums(const float *x, double *y, int cols) {\n"
                                     "  double s = 0;\n"
                                     "  for (int i = 0; i < cols; i++) s += x[(size_t)blockIdx.x * cols + i];\n"
                                     "  y[blockIdx.x] = s; }\n";
#define ROWS(barrier)                                                                                                  \
    "__global__ void k(const float *x, float *y, int cols) {\n"                                                        \
    "  __shared__ float part[256];\n"                                                                                  \
    "  float s = 0;\n"                                                                                                 \
    "  for (int i = threadIdx.x; i < cols; i += 256) s += x[(size_t)blockIdx.x * cols + i];\n"                         \
    "  part[threadIdx.x] = s;\n"                                                                                       \
    "  __syncthreads();\n"                                                                                             \
    "  for (int k = 128; k; k /= 2) {\n"                                                                               \
    "    if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];\n"                                           \
    "    " barrier "; }\n"                                                                                             \
    "  if (threadIdx.x == 0) y[blockIdx.x] = part[0]; }\n"

static void a_case_too_large_is_watched_with_fewer_rows(void **state)
{
    (void)state;
    write_bench(rows_bench, rows_reference);
    program_write(dir, "k.cu", ROWS("__syncthreads()"));
    char *argv[] = {KB_BUILD_DIR "/kbench-tui", "--once", "--device", "cpu", "--no-history", dir, NULL};
    char *text = program_text(argv, PATIENCE_MS, 0);
    const char *gap = strstr(text, "NOT RUN: races in 1 of 2 cases: 5000 x 2048 (");
    if (!gap || !strstr(gap, " x 2048 was)"))
        fail_msg("%s", text);
    free(text);
    fails(ROWS("if (cols < 2048) __syncthreads()"), "verify", "race at k.cu:8: thread (");
    write_bench(bench, reference);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_values_name_the_race),
        cmocka_unit_test(wrong_values_name_what_nobody_wrote),
        cmocka_unit_test(a_helper_is_told_with_its_caller),
        cmocka_unit_test(arrays_have_their_names_and_elements),
        cmocka_unit_test(variables_that_nobody_set_are_told),
        cmocka_unit_test(types_that_differ_are_told),
        cmocka_unit_test(what_finds_nothing_stays_as_it_was),
        cmocka_unit_test(a_case_too_large_is_watched_with_fewer_rows),
    };
    make_bench();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
