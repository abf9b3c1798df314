// Check "full": races and uninitialised reads are found, and correct kernels give no report at all.
#include "support_cpu.h"

#include "base/json.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define KERNEL(name) "extern \"C\" __global__ void " name

static const char bad_source[] =
    KERNEL("missing(float *y) {\n  __shared__ float s[64];\n  s[threadIdx.x] = threadIdx.x;\n  y[threadIdx.x] = s[63 - "
           "threadIdx.x];\n}\n") // written in line 3, read in line 4
    KERNEL("lockstep(float *y) { __shared__ float s[32]; int t = threadIdx.x; s[t] = t; y[t] = s[31 - t]; }\n")
        KERNEL("empty(float *y) { __shared__ float s[64]; if (threadIdx.x < 63) s[threadIdx.x] = 1; __syncthreads(); "
               "y[threadIdx.x] = s[threadIdx.x]; }\n")
            KERNEL("blocks(float *y) { if (threadIdx.x == 0) y[0] += blockIdx.x; }\n")
                KERNEL("overwrite(float *y) { __shared__ float s[64]; int t = threadIdx.x; s[t] = t; __syncthreads(); "
                       "float v = s[63 - t]; s[t] = v; y[t] = v; }\n")
                    KERNEL("any(float *y) { __shared__ int any; int t = threadIdx.x; if (t == 0) any = 0; "
                           "__syncthreads(); if (t % 3 == 0) any = 1; __syncthreads(); y[t] = any; }\n")
                        KERNEL("differ(float *y) { y[0] = 1 + blockIdx.x; }\n")
                            KERNEL("agree(float *y) { y[0] = 7; }\n");

static void test_found(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, "full");
    cpu_load_cuda(&c, bad_source);
    cpu_buffer(&c, "y", KB_F32, 64, NULL);
    uint64_t p = cpu_address(&c, 0);
    static const struct {
        const char *kernel, *kind, *text;
        unsigned grid, block;
        int line;
    } rows[] = {
        {"missing", "race", "test.cu:4", 1, 64, 3},    {"lockstep", "race_in_warp", "__syncwarp", 1, 32, 6},
        {"empty", "uninitialised", "s[63]", 1, 64, 7}, {"blocks", "race", "y[0]", 3, 32, 8},
        {"overwrite", "race", "no barrier", 1, 64, 9}, {"any", "race_same_value", "same value", 1, 64, 10},
        {"differ", "race", "y[0]", 3, 32, 11},         {"agree", "race_same_value", "y[0]", 3, 32, 12},
    };
    for (size_t i = 0; i < KB_COUNT(rows); i++) {
        cpu_run(&c, rows[i].kernel, rows[i].grid, rows[i].block, 0, &p, NULL);
        int line = 0;
        char *text = cpu_report(&c, rows[i].kind, &line);
        if (!text || !strstr(text, rows[i].text))
            fail_msg("%s: %s", rows[i].kernel, text ? text : "no report");
        assert_int_equal(line, rows[i].line);
        free(text);
        text = cpu_report(&c, strcmp(rows[i].kind, "race_same_value") ? "race_same_value" : "race", NULL);
        if (text)
            fail_msg("%s: %s", rows[i].kernel, text);
        char *again = NULL;
        cpu_run(&c, rows[i].kernel, rows[i].grid, rows[i].block, 0, &p, NULL); // reproducible
        text = cpu_report(&c, rows[i].kind, &line);
        again = cpu_report(&c, rows[i].kind, &line);
        assert_string_equal(text, again);
        free(text);
        free(again);
    }
    cpu_close(&c);
    cpu_open(&c, "bounds"); // no reports at the lower level
    cpu_load_cuda(&c, bad_source);
    cpu_buffer(&c, "y", KB_F32, 64, NULL);
    p = cpu_address(&c, 0);
    cpu_run(&c, "missing", 1, 64, 0, &p, NULL);
    assert_null(cpu_report(&c, "race", NULL));
    cpu_close(&c);
}

// Of those that read before a store, not only the last one counts.
static void test_earlier_reader(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, "full");
    cpu_load_cuda(&c, KERNEL("readers(float *x, float *y) {\n"
                             "  int t = threadIdx.x;\n"
                             "  if (t == 0) y[0] = x[0];\n" // by the first warp, which nobody waits for
                             "  if (t == 32) y[1] = x[0] + 1;\n"
                             "  if (t == 32) x[0] = 5;\n" // behind its own read, which is in order
                             "}\n"));
    cpu_buffer(&c, "x", KB_F32, 64, NULL);
    cpu_buffer(&c, "y", KB_F32, 64, NULL);
    uint64_t x = cpu_address(&c, 0), y = cpu_address(&c, 1);
    const void *args[] = {&x, &y};
    assert_int_equal(cpu_try_args(&c, "readers", (int64_t[3]){1, 1, 1}, (int64_t[3]){64, 1, 1}, 0, false, 2, args), 0);
    int line = 0;
    char *text = cpu_report(&c, "race", &line);
    assert_non_null(text);
    assert_non_null(strstr(text, "test.cu:3"));
    assert_int_equal(line, 5);
    free(text);
    cpu_close(&c);
}

// One line, two arrays: a report of each, so that whoever reads one does not miss the other.
static void test_arrays_of_one_line(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, "full");
    cpu_load_cuda(&c, KERNEL("two(float *y, float *z) { if (threadIdx.x == 0) { y[0] += blockIdx.x; z[0] += "
                             "blockIdx.x; } }\n"));
    cpu_buffer(&c, "y", KB_F32, 64, NULL);
    cpu_buffer(&c, "z", KB_F32, 64, NULL);
    uint64_t p = cpu_address(&c, 0), q = cpu_address(&c, 1);
    cpu_run(&c, "two", 3, 32, 0, &p, &q, NULL);
    cJSON *facts = c.device->ops->facts(c.device);
    const cJSON *report;
    bool y = false, z = false;
    cJSON_ArrayForEach (report, kb_json_get(facts, "reports")) {
        const char *text = kb_json_text(report, "text", "");
        y = y || strstr(text, " y[0]");
        z = z || strstr(text, " z[0]");
    }
    assert_true(y && z);
    cJSON_Delete(facts);
    cpu_close(&c);
}

static const char good_source[] =
    "#include <cooperative_groups.h>\n#include <mma.h>\n#include <cuda_pipeline.h>\n" KERNEL(
        "tree(const float *x, float *y) { __shared__ float s[256]; int t = threadIdx.x; s[t] = x[t]; "
        "__syncthreads();\n"
        "  for (int k = 128; k; k /= 2) { if (t < k) s[t] += s[t + k]; __syncthreads(); } if (t == 0) y[0] = s[0]; "
        "}\n") KERNEL("warps(const float *x, float *y) { __shared__ float s[8]; int t = threadIdx.x; float v = x[t];\n"
                      "  for (int k = 16; k; k /= 2) v += __shfl_down_sync(~0u, v, k); if (t % 32 == 0) s[t / 32] = v; "
                      "__syncthreads();\n"
                      "  if (t < 32) { v = t < 8 ? s[t] : 0; for (int k = 4; k; k /= 2) v += __shfl_down_sync(~0u, v, "
                      "k); "
                      "if (t == 0) y[0] = v; } }\n")
        KERNEL(
            "synced(const float *x, float *y) { __shared__ float s[256]; int t = threadIdx.x, w = t / 32 * "
            "32; s[t] = x[t]; __syncwarp(); float v = s[w + 31 - t % 32]; __syncwarp(); s[t] = v; y[t] = "
            "s[t]; }\n") "__device__ unsigned ticket; __device__ float partial[64];\n" KERNEL("last(const float *x, "
                                                                                              "float *y) { __shared__ "
                                                                                              "bool is_last; "
                                                                                              "__shared__ float s[64]; "
                                                                                              "int t = "
                                                                                              "threadIdx.x; s[t] = "
                                                                                              "x[blockIdx.x * 64 + t]; "
                                                                                              "__syncthreads();\n"
                                                                                              "  for (int k = 32; k; k "
                                                                                              "/= 2) { if (t < k) s[t] "
                                                                                              "+= s[t + k]; "
                                                                                              "__syncthreads(); }\n"
                                                                                              "  if (t == 0) { "
                                                                                              "partial[blockIdx.x] = "
                                                                                              "s[0]; __threadfence(); "
                                                                                              "is_last = "
                                                                                              "atomicInc(&ticket, "
                                                                                              "gridDim.x - 1) == "
                                                                                              "gridDim.x - 1; } "
                                                                                              "__syncthreads();\n"
                                                                                              "  if (is_last && t == "
                                                                                              "0) { float v = 0; for "
                                                                                              "(int i = 0; i < "
                                                                                              "gridDim.x; i++) v += "
                                                                                              "partial[i]; y[0] "
                                                                                              "= v; } }\n")
            KERNEL("grid(const float *x, float *y) { auto g = cooperative_groups::this_grid(); int i = "
                   "g.thread_rank(); y[i] = x[i]; g.sync(); float v = y[g.size() - 1 - i]; g.sync(); y[i] = v; "
                   "}\n") KERNEL("copies(const float4 *x, float *y) { __shared__ float4 s[64]; int t = threadIdx.x; "
                                 "__pipeline_memcpy_async(&s[t], x + t, 16); __pipeline_commit(); "
                                 "__pipeline_wait_prior(0); __syncthreads(); y[t] = s[63 - t].z; }\n")
                KERNEL("lock(int *m, volatile float *y) { while (atomicCAS(m, 0, 1)) ; __threadfence(); "
                       "y[0] = y[0] + 1; __threadfence(); atomicExch(m, 0); }\n")
                    KERNEL("named(const float *x, float *y) { __shared__ float s[32]; int t = threadIdx.x; "
                           "if (t < 32) { s[t] = x[t]; asm volatile(\"bar.arrive 1, 64;\" ::: \"memory\"); "
                           "} else { asm volatile(\"bar.sync 1, 64;\" ::: \"memory\"); y[t] = s[t - 32]; } "
                           "}\n") "__device__ __noinline__ float poly(float x, int n) { float c[8]; for "
                                  "(int i = 0; i <= n; i++) c[i] = x + i; float r = 0; for (int i = n; i "
                                  ">= 0; i--) r = r * x + c[i]; return r; }\n" KERNEL(
                                      "locals(const float *x, float *y) { y[threadIdx.x] = "
                                      "poly(x[threadIdx.x], threadIdx.x % 7) + poly(2, 3); }\n")
                                      KERNEL("fragments(const half *x, float *y) { using namespace nvcuda; "
                                             "__shared__ __align__(32) float s[256]; "
                                             "wmma::fragment<wmma::matrix_a, 16, 16, 16, half, "
                                             "wmma::row_major> a;\n"
                                             "  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, "
                                             "wmma::col_major> b; wmma::fragment<wmma::accumulator, 16, "
                                             "16, 16, float> c; wmma::fill_fragment(c, 0); "
                                             "wmma::load_matrix_sync(a, x, 16);\n"
                                             "  wmma::load_matrix_sync(b, x, 16); wmma::mma_sync(c, a, b, "
                                             "c); wmma::store_matrix_sync(s, c, 16, wmma::mem_row_major); "
                                             "__syncthreads(); y[threadIdx.x] = s[threadIdx.x * 8]; }\n");

static void test_silent(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, "full");
    cpu_load_cuda(&c, good_source);
    float *x = cpu_buffer(&c, "x", KB_F32, 1024, NULL), *y = cpu_buffer(&c, "y", KB_F32, 1024, NULL);
    for (int i = 0; i < 1024; i++)
        x[i] = (float)(i % 9);
    uint64_t p[2] = {cpu_address(&c, 0), cpu_address(&c, 1)};
    static const struct {
        const char *kernel;
        unsigned grid, block;
        bool cooperative;
    } rows[] = {{"tree", 1, 256, false}, {"warps", 1, 256, false}, {"synced", 1, 256, false},
                {"last", 16, 64, false}, {"grid", 4, 64, true},    {"copies", 1, 64, false},
                {"named", 1, 64, false}, {"locals", 1, 64, false}, {"fragments", 1, 32, false},
                {"lock", 4, 64, false}};
    for (size_t i = 0; i < KB_COUNT(rows); i++) {
        const void *args[] = {&p[0], &p[1]};
        memset(y, 0, 1024 * sizeof *y);
        if (!strcmp(rows[i].kernel, "lock"))
            memset(x, 0, 4);
        if (cpu_try_args(&c, rows[i].kernel, (int64_t[3]){rows[i].grid, 1, 1}, (int64_t[3]){rows[i].block, 1, 1}, 0,
                         rows[i].cooperative, 2, args))
            fail_msg("%s", kb_error_line(&c.error));
        static const char *const kinds[] = {"race",         "race_in_warp",    "uninitialised", "divergent_barrier",
                                            "barrier_left", "shuffle_inactive"};
        for (size_t k = 0; k < KB_COUNT(kinds); k++) {
            char *text = cpu_report(&c, kinds[k], NULL);
            if (text)
                fail_msg("%s: %s", rows[i].kernel, text);
        }
    }
    assert_true(y[0] == 256);
    cpu_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_found), cmocka_unit_test(test_earlier_reader),
                                       cmocka_unit_test(test_arrays_of_one_line), cmocka_unit_test(test_silent)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
