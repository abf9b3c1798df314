// Faults and reports: each names kernel, block, thread, the argument with its index, and the source line.
#include "support_cpu.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL(name) "extern \"C\" __global__ void " name

static void expect_fault(struct cpu *c, const char *name, const char *const *texts)
{
    assert_int_equal(c->device->fault.kind, KB_FAULT_POISONED);
    assert_string_equal(c->device->fault.name, name);
    for (; *texts; texts++)
        if (!strstr(c->error.what, *texts))
            fail_msg("'%s' does not hold '%s'", c->error.what, *texts);
}

static const char memory_source[] = KERNEL(
    "past(float *x, float *y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  y[i] = x[i];\n}\n") // line
                                                                                                                // 3
    KERNEL("before(float *x) { x[(int)threadIdx.x - 1] = 1; }\n") KERNEL("null(float *x) { x[0] = 1; }\n") KERNEL(
        "far(float *x) { x[1ll << 40] = 1; }\n")
        KERNEL("bent(char *x) { *(float4 *)(x + 4) = make_float4(1, 2, 3, 4); }\n") KERNEL(
            "small(int n) { __shared__ float s[16]; __shared__ float t[16]; s[threadIdx.x] = n; __syncthreads(); "
            "t[threadIdx.x] = s[threadIdx.x]; }\n")
            KERNEL("dynamic(int n) { extern __shared__ float d[]; d[threadIdx.x] = n; }\n") KERNEL(
                "guarded(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = i; }\n")
                KERNEL("add(int *x) { atomicAdd(x + threadIdx.x * 3, 1); }\n") "__device__ int table[4];\n" KERNEL(
                    "global(int i) { table[i] = 1; }\n");

static void test_memory(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_load_cuda(&c, memory_source);
    float *x = cpu_buffer(&c, "x", KB_F32, 100, NULL), *y = cpu_buffer(&c, "y", KB_F32, 80, NULL);
    uint64_t px = cpu_address(&c, 0), py = cpu_address(&c, 1), null = 0;
    int n = 100;
    assert_int_equal(cpu_try(&c, "past", 3, 32, 0, &px, &py, &n, NULL), -1);
    expect_fault(&c, "CUDA_ERROR_ILLEGAL_ADDRESS",
                 (const char *[]){"write of 4 bytes at y[80], 1 past its end", "thread (16,0,0)", "block (2,0,0)",
                                  "test.cu:3", NULL});
    assert_string_equal(c.error.on, "past");
    int line = 0;
    char *text = cpu_report(&c, "illegal_address", &line);
    assert_non_null(text);
    assert_int_equal(line, 3);
    free(text);
    assert_int_equal(cpu_try(&c, "before", 1, 32, 0, &px, NULL), -1);
    expect_fault(&c, "CUDA_ERROR_ILLEGAL_ADDRESS",
                 (const char *[]){"x[-1], 1 before its start", "thread (0,0,0)", NULL});
    assert_int_equal(cpu_try(&c, "null", 1, 32, 0, &null, NULL), -1);
    expect_fault(&c, "CUDA_ERROR_ILLEGAL_ADDRESS", (const char *[]){"a null pointer", NULL});
    assert_int_equal(cpu_try(&c, "far", 1, 1, 0, &px, NULL), -1);
    expect_fault(&c, "CUDA_ERROR_ILLEGAL_ADDRESS", (const char *[]){"no allocation", NULL});
    assert_int_equal(cpu_try(&c, "bent", 1, 1, 0, &px, NULL), -1);
    expect_fault(&c, "CUDA_ERROR_MISALIGNED_ADDRESS", (const char *[]){"16 bytes", "x + 4 bytes", NULL});
    assert_int_equal(cpu_try(&c, "small", 1, 32, 0, &n, NULL), -1);
    expect_fault(&c, "CUDA_ERROR_ILLEGAL_ADDRESS",
                 (const char *[]){"shared memory", "[16], 1 past its end", "thread (16,0,0)", NULL});
    cpu_run(&c, "small", 1, 16, 0, &n, NULL);
    assert_int_equal(cpu_try(&c, "dynamic", 1, 32, 64, &n, NULL), -1);
    expect_fault(&c, "CUDA_ERROR_ILLEGAL_ADDRESS", (const char *[]){"d[16], 1 past its end", NULL});
    assert_int_equal(cpu_try(&c, "dynamic", 1, 32, 0, &n, NULL), -1);
    cpu_run(&c, "dynamic", 1, 32, 128, &n, NULL);
    assert_int_equal(cpu_try(&c, "add", 1, 64, 0, &px, NULL), -1);
    expect_fault(&c, "CUDA_ERROR_ILLEGAL_ADDRESS",
                 (const char *[]){"atomic operation", "x[102], 3 past", "thread (34,0,0)", NULL});
    int i = 4;
    assert_int_equal(cpu_try(&c, "global", 1, 1, 0, &i, NULL), -1);
    expect_fault(&c, "CUDA_ERROR_ILLEGAL_ADDRESS", (const char *[]){"[4], 1 past its end", NULL});
    cpu_run(&c, "guarded", 5, 32, 0, &px, &n, NULL); // a correct kernel is left alone
    assert_true(x[99] == 99 && y[0] == 0);
    assert_int_equal(c.device->fault.kind, KB_FAULT_NONE);
    cpu_close(&c);
}

static void test_barriers(void **state)
{
    (void)state;
    setenv("KB_PTX_BUDGET", "2000000", 1);
    struct cpu c;
    cpu_open(&c, NULL);
    unsetenv("KB_PTX_BUDGET");
    cpu_load_cuda(
        &c, KERNEL("two(int *x, int warp) {\n  if (threadIdx.x < warp)\n    __syncthreads();\n  else\n    { x[3] = 1; "
                   "__syncthreads(); }\n  x[threadIdx.x] = 1;\n}\n")
                KERNEL("gone(int *x) { if (threadIdx.x >= 40) return; __syncthreads(); x[threadIdx.x] = 1; }\n")
                    KERNEL("never(int *x) { if (threadIdx.x < 32) asm volatile(\"bar.sync 1;\"); else asm "
                           "volatile(\"bar.sync 2;\"); x[0] = 1; }\n")
                        KERNEL("endless(volatile int *x) { while (x[0] == 0) ; }\n")
                            KERNEL("alone(int *x) { if (threadIdx.x < 16) x[0] = __shfl_down_sync(0xffffffff, "
                                   "x[1], 1); else while (((volatile int *)x)[2] == 0) ; }\n")
                                KERNEL("counted(int *x) { int t = threadIdx.x; if (t < 32) { x[t] = t; asm "
                                       "volatile(\"bar.arrive 1, 64;\" ::: \"memory\"); } else { asm "
                                       "volatile(\"bar.sync 1, 64;\" ::: \"memory\"); x[t] = x[t - 32] + 1; }\n"
                                       " x[64 + t] = __syncthreads_count(t % 3 == 0); x[128 + t] = "
                                       "__syncthreads_and(t < 63) * 2 + __syncthreads_or(t == 5); }\n"));
    int *x = cpu_buffer(&c, "x", KB_I32, 192, NULL), line = 0;
    uint64_t p = cpu_address(&c, 0);
    char *text;
    for (int whole = 0; whole < 2; whole++) { // by lanes of one warp; by warps, which PTX allows
        int bound = whole ? 32 : 16;
        cpu_run(&c, "two", 1, 64, 0, &p, &bound, NULL);
        assert_null(cpu_report(&c, whole ? "divergent_barrier" : "barrier_by_warp", NULL));
        text = cpu_report(&c, whole ? "barrier_by_warp" : "divergent_barrier", &line);
        assert_non_null(text);
        assert_non_null(strstr(text, "test.cu:3"));
        assert_non_null(strstr(text, "test.cu:5"));
        free(text);
    }
    memset(x, 0, 192 * sizeof *x);
    cpu_run(&c, "gone", 1, 64, 0, &p, NULL);
    text = cpu_report(&c, "barrier_left", &line);
    assert_non_null(text);
    free(text);
    assert_int_equal(x[39], 1);
    assert_int_equal(x[40], 0);
    assert_int_equal(cpu_try(&c, "never", 1, 64, 0, &p, NULL), -1);
    expect_fault(&c, "CUDA_ERROR_LAUNCH_TIMEOUT",
                 (const char *[]){"barrier 1 is never completed: 32 of 64", "others in barrier 2 at test.cu", NULL});
    memset(x, 0, 192 * sizeof *x);
    assert_int_equal(cpu_try(&c, "endless", 1, 32, 0, &p, NULL), -1);
    expect_fault(&c, "CUDA_ERROR_LAUNCH_TIMEOUT", (const char *[]){"no end after", "test.cu:", NULL});
    assert_int_equal(cpu_try(&c, "alone", 1, 32, 0, &p, NULL), -1);
    assert_int_equal(c.device->fault.kind, KB_FAULT_POISONED);
    memset(x, 0, 192 * sizeof *x);
    cpu_run(&c, "counted", 1, 64, 0, &p, NULL);
    for (int t = 0; t < 64; t++) {
        assert_int_equal(x[t], t < 32 ? t : t - 31);
        assert_int_equal(x[64 + t], 22);
        assert_int_equal(x[128 + t], 1);
    }
    assert_null(cpu_report(&c, "divergent_barrier", NULL));
    assert_true(cpu_fact(&c, "barriers") == 4);
    cpu_close(&c);
}

// Loops whose registers change for ever, but none that has a say in where they go; and long ones that do end.
static void test_endless(void **state)
{
    (void)state;
    static const char *const endless[] = {"sums", "stores", "meets", "helper", "shrinks", "looks"};
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_load_cuda(&c,
                  KERNEL("sums(float *x, int n) { float a = 0; int i = 0; do { a += x[i & 63]; i++; } while (n > "
                         "0); x[0] = "
                         "a; }\n") KERNEL("stores(float *x, int n) { for (int i = 0; n > 0; i++) x[i & 63] = i; }\n")
                      KERNEL("meets(float *x, int n) { for (int i = 0; n > 0; i++) { x[i & 63] = i; "
                             "__syncthreads(); } "
                             "}\n") "__device__ __noinline__ float next(float a) { return a * 1.25f + 1; "
                                    "}\n" KERNEL("helper(float *x, int n) { float a = x[0]; while (n > 0) a = "
                                                 "next(a) - next(-a); x[0] = a; }\n")
                                        KERNEL("shrinks(float *x, int n) { unsigned u = 0; float a = 0; for "
                                               "(int s = n; s >= 0; s >>= 1) "
                                               "{ a += ++u; x[s] = a; } }\n")
                                            KERNEL("looks(float *x, int n) { float a = 0; int i = 0; "
                                                   "while (((volatile float *)x)[n] == 0) "
                                                   "a += i++; x[1] = a; }\n")
                                                KERNEL("ends(float *x, int n) { float a = 0; for (int i = 0; i "
                                                       "< n * 1000000; i++) a += "
                                                       "x[i & 63]; x[threadIdx.x] = a; }\n"));
    float *x = cpu_buffer(&c, "x", KB_F32, 64, NULL);
    uint64_t p = cpu_address(&c, 0);
    int n = 1;
    for (size_t i = 0; i < KB_COUNT(endless); i++) {
        memset(x, 0, 64 * sizeof *x);
        assert_int_equal(cpu_try(&c, endless[i], 1, 64, 0, &p, &n, NULL), -1);
        expect_fault(&c, "CUDA_ERROR_LAUNCH_TIMEOUT", (const char *[]){"it repeats itself", "test.cu:", NULL});
    }
    n = 3;
    cpu_run(&c, "ends", 1, 32, 0, &p, &n, NULL);
    cpu_close(&c);
}

// Addresses just below zero: what is added to them must not wrap around.
static void test_wrapped(void **state)
{
    (void)state;
    static const char *const kernels[] = {"row", "one", "shared", "stored"};
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_load_cuda(
        &c,
        KERNEL("row(const float *x, float *y, long long n) { y[0] = 1; for (int i = 0; i < 2; i++) y[threadIdx.x] = "
               "((float *)(i ? n : (long long)x))[threadIdx.x]; }\n")
            KERNEL("one(const float *x, float *y, long long n) { const float *p = threadIdx.x == 3 ? (float *)n : "
                   "x + threadIdx.x * 2; y[threadIdx.x] = *p; }\n")
                KERNEL("shared(const float *x, float *y, long long n) { __shared__ float s[64]; s[threadIdx.x] = 1; "
                       "unsigned long long at = __cvta_generic_to_shared(s); float v; if (threadIdx.x == 5) at = n; "
                       "asm volatile(\"ld.shared.f32 %0, [%1];\" : \"=f\"(v) : \"l\"(at)); y[threadIdx.x] = v; }\n")
                    KERNEL("stored(const float *x, float *y, long long n) { for (int i = 0; i < 2; i++) "
                           "((float *)(i ? n : (long long)y))[threadIdx.x] = i; }\n"));
    cpu_buffer(&c, "x", KB_F32, 128, NULL);
    cpu_buffer(&c, "y", KB_F32, 128, NULL);
    uint64_t px = cpu_address(&c, 0), py = cpu_address(&c, 1);
    int64_t n = -4;
    for (size_t i = 0; i < KB_COUNT(kernels); i++) {
        assert_int_equal(cpu_try(&c, kernels[i], 1, 32, 0, &px, &py, &n, NULL), -1);
        expect_fault(&c, "CUDA_ERROR_ILLEGAL_ADDRESS", (const char *[]){"4 bytes", NULL});
    }
    cpu_close(&c);
}

// What a kernel writes beside its own blocks of the heap does not harm the host.
static void test_heap(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_load_cuda(&c,
                  KERNEL("spill(int *x) { int *p = (int *)malloc(16); for (int i = threadIdx.x ? -8 : 0; i < 12; i++) "
                         "p[i] = -1; free(p); p = (int *)malloc(40); x[threadIdx.x] = p != 0; free(p); }\n"));
    int *x = cpu_buffer(&c, "x", KB_I32, 32, NULL);
    uint64_t p = cpu_address(&c, 0);
    cpu_run(&c, "spill", 1, 32, 0, &p, NULL);
    for (int i = 0; i < 32; i++)
        assert_int_equal(x[i], 1);
    cpu_close(&c);
}

static void test_recursion(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_load(&c, ".version 9.0\n.target sm_90\n.address_size 64\n.func f();\n.func f() { call f, (); ret; }\n"
                 ".func leaf() { ret; }\n.visible .entry k() { call f, (); ret; }\n.visible .entry fine() { call leaf, "
                 "(); ret; }\n");
    cpu_run(&c, "fine", 1, 64, 0, NULL);
    assert_int_equal(cpu_try(&c, "k", 1, 64, 0, NULL), -1);
    expect_fault(&c, "CUDA_ERROR_LAUNCH_FAILED", (const char *[]){"stack overflow", NULL});
    cpu_close(&c);
}

static void test_refusals(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_load(
        &c,
        ".version 9.0\n.target sm_90a\n.address_size 64\n.file 1 \"tma.cu\"\n"
        ".visible .entry good(.param .u32 a) { ret; }\n"
        ".func helper() { .loc 1 7 3\n wgmma.fence.sync.aligned; ret; }\n"
        ".visible .entry bad(.param .u32 a) { call helper, (); ret; }\n"
        ".visible .entry aside(.param .u32 a) { .reg .pred %p; .reg .b32 %r; ld.param.u32 %r, [a];\n"
        "setp.ne.u32 %p, %r, 0; .loc 1 8 1\n @%p wgmma.fence.sync.aligned; ret; }\n"
        ".visible .entry odd(.param .u32 a) { .reg .f32 %f<3>; .loc 1 9 1\n add.rn.strange.f32 %f0, %f1, %f2; ret; }\n"
        ".visible .entry alone(.param .u32 a) .explicitcluster .reqnctapercluster 1, 1, 1 { "
        "setmaxnreg.inc.sync.aligned.u32 "
        "232; ret; }\n"
        ".visible .entry paired(.param .u32 a) .explicitcluster .reqnctapercluster 2, 1, 1 { ret; }\n"
        ".visible .entry bound(.param .u64 a, .param .u32 b) .maxntid 64, 1, 1 { ret; }\n");
    int a = 0;
    uint64_t b = 0;
    cpu_run(&c, "good", 1, 32, 0, &a, NULL);
    cpu_run(&c, "alone", 1, 32, 0, &a, NULL);
    assert_int_equal(cpu_try(&c, "paired", 2, 32, 0, &a, NULL), -1);
    assert_int_equal(c.device->fault.kind, KB_FAULT_REFUSED);
    assert_int_equal(cpu_try(&c, "bad", 1, 32, 0, &a, NULL), -1);
    assert_int_equal(c.device->fault.kind, KB_FAULT_REFUSED);
    assert_non_null(strstr(c.error.what, "wgmma.fence"));
    assert_string_equal(c.error.on, "tma.cu:7");
    assert_true(c.error.remedy[0]);
    cpu_run(&c, "aside", 1, 32, 0, &a, NULL); // nobody gets there
    a = 1;
    assert_int_equal(cpu_try(&c, "aside", 1, 32, 0, &a, NULL), -1);
    assert_int_equal(c.device->fault.kind, KB_FAULT_REFUSED);
    assert_string_equal(c.error.on, "tma.cu:8");
    assert_int_equal(cpu_try(&c, "odd", 1, 32, 0, &a, NULL), -1);
    assert_non_null(strstr(c.error.what, ".strange"));
    assert_string_equal(c.error.on, "tma.cu:9");
    assert_int_equal(cpu_try(&c, "bound", 1, 96, 0, &b, &a, NULL), -1);
    assert_int_equal(c.device->fault.kind, KB_FAULT_REFUSED);
    assert_int_equal(cpu_try(&c, "bound", 1, 64, 0, &b, NULL), -1); // one argument too few
    assert_int_equal(c.device->fault.kind, KB_FAULT_REFUSED);
    assert_int_equal(cpu_try(&c, "good", 0, 32, 0, &a, NULL), -1);
    assert_int_equal(cpu_try(&c, "good", 1, 1025, 0, &a, NULL), -1);
    assert_int_equal(cpu_try(&c, "missing", 1, 32, 0, &a, NULL), -1);
    struct kb_kernel *k;
    struct kb_kernel_info info;
    assert_int_equal(c.device->ops->symbol(c.module, "bound", &k, &c.error), 0);
    c.device->ops->kernel_info(k, &info);
    assert_int_equal(info.param_count, 2);
    assert_int_equal(info.param_offset[1], 8);
    assert_int_equal(info.param_bytes[0], 8);
    assert_int_equal(info.max_threads, 64);
    cpu_close(&c);
}

static void test_counts(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_load_cuda(
        &c,
        KERNEL(
            "copy(const float *x, float *y) { int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = x[i] * 2 + 1; }\n")
            KERNEL("strided(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x * 8]; }\n")
                KERNEL("banks(int *y, int stride) { __shared__ int s[1024]; s[threadIdx.x * stride] = threadIdx.x; "
                       "__syncthreads(); y[threadIdx.x] = s[threadIdx.x * stride]; }\n")
                    KERNEL("split(int *y) {\n  if (threadIdx.x & 1)\n    y[threadIdx.x] += 3;\n  else\n    "
                           "y[threadIdx.x] *= y[threadIdx.x + 1];\n}\n"));
    cpu_buffer(&c, "x", KB_F32, 1024, NULL);
    cpu_buffer(&c, "y", KB_F32, 1024, NULL);
    uint64_t px = cpu_address(&c, 0), py = cpu_address(&c, 1);
    cpu_run(&c, "copy", 8, 128, 0, &px, &py, NULL);
    assert_true(cpu_fact(&c, "flops.f32") == 2 * 1024);
    assert_true(cpu_fact(&c, "bytes.global_load") == 4096 && cpu_fact(&c, "bytes.global_store") == 4096);
    assert_true(cpu_fact(&c, "global_requests") == 64 && cpu_fact(&c, "global_sectors") == 256);
    assert_true(cpu_fact(&c, "divergent_branches") == 0 && cpu_fact(&c, "average_active_lanes") == 32);
    double instructions = cpu_fact(&c, "instructions");
    assert_true(cpu_fact(&c, "thread_instructions") == 32 * instructions);
    cpu_run(&c, "strided", 1, 32, 0, &px, &py, NULL);
    assert_true(cpu_fact(&c, "global_sectors") == 32 + 4);
    const int strides[] = {1, 2, 3, 4, 8, 16, 32}, further[] = {0, 1, 0, 3, 7, 15, 31};
    for (size_t i = 0; i < KB_COUNT(strides); i++) {
        cpu_run(&c, "banks", 1, 32, 0, &py, &strides[i], NULL);
        assert_true(cpu_fact(&c, "shared_bank_conflicts") == 2 * further[i]);
        assert_true(cpu_fact(&c, "bytes.shared") == 256);
    }
    cpu_run(&c, "split", 2, 64, 0, &py, NULL);
    assert_true(cpu_fact(&c, "divergent_branches") == 4);
    assert_true(cpu_fact(&c, "average_active_lanes") < 32);
    cJSON *facts = c.device->ops->facts(c.device);
    bool found = false;
    const cJSON *line;
    cJSON_ArrayForEach (line, cJSON_GetObjectItem(facts, "lines")) {
        found |=
            cJSON_GetObjectItem(line, "line")->valueint == 5 && cJSON_GetObjectItem(line, "divergent")->valueint == 4;
        assert_true(cJSON_GetObjectItem(line, "line")->valueint > 0);
    }
    assert_true(found);
    cJSON_Delete(facts);
    cpu_close(&c);
}

// The counts of half-warp patterns come from a formula; here the general count of the same addresses.
static void test_half_patterns(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_load_cuda(
        &c, KERNEL("k(const int *at, int *y, int spread) { extern __shared__ int s[]; int t = threadIdx.x; for (int i "
                   "= t; i < 2048; i += 32) s[i] = i; __syncwarp();\n"
                   "  int a = at[t / 16]; a = a < 0 ? -a - 1 : a + t % 16; y[t] = s[a + (spread && t > 31)]; }\n"));
    int *at = cpu_buffer(&c, "at", KB_I32, 2, NULL), *y = cpu_buffer(&c, "y", KB_I32, 32, NULL), spread = 0;
    uint64_t pa = cpu_address(&c, 0), py = cpu_address(&c, 1);
    uint32_t seed = 7;
    cpu_run(&c, "k", 1, 32, 8192, &pa, &py, &spread, NULL);
    double filling = cpu_fact(&c, "shared_bank_conflicts");
    for (int n = 0; n < 300; n++) {
        uint32_t banks[32] = {0}, worst = 1;
        int words[32][32];
        for (int i = 0; i < 2; i++) {
            seed = seed * 1664525u + 1013904223u;
            int v = (int)(seed >> 8) % (n % 3 ? 100 : 2000);
            at[i] = seed >> 31 ? v : -v - 1;
        }
        cpu_run(&c, "k", 1, 32, 8192, &pa, &py, &spread, NULL);
        for (int t = 0; t < 32; t++) {
            int a = at[t / 16] < 0 ? -at[t / 16] - 1 : at[t / 16] + t % 16, b = a % 32;
            assert_int_equal(y[t], a);
            bool old = false;
            for (uint32_t k = 0; k < banks[b]; k++)
                old |= words[b][k] == a;
            if (!old)
                words[b][banks[b]++] = a;
            worst = banks[b] > worst ? banks[b] : worst;
        }
        assert_true(cpu_fact(&c, "shared_bank_conflicts") - filling == worst - 1);
    }
    cpu_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),    cmocka_unit_test(test_barriers), cmocka_unit_test(test_endless),
        cmocka_unit_test(test_refusals),  cmocka_unit_test(test_heap),     cmocka_unit_test(test_wrapped),
        cmocka_unit_test(test_recursion), cmocka_unit_test(test_counts),   cmocka_unit_test(test_half_patterns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
