// What CUDA C++ brings along: calls, recursion, virtual functions, device malloc, printf, assert, cooperative groups,
// locks, atomics, asynchronous copies, barriers in shared memory.
#include "support_cpu.h"

#include "base/file.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void test_calls(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_load_cuda(
        &c,
        "__device__ __noinline__ int fact(int n) { return n < 2 ? 1 : n * fact(n - 1); }\n"
        "__device__ int twice(int x) { return 2 * x; }\n"
        "__device__ int square(int x) { return x * x; }\n"
        "typedef int (*function)(int);\n"
        "__device__ function table[2] = { twice, square };\n"
        "struct shape { __device__ virtual int area(int) = 0; __device__ virtual ~shape() {} };\n"
        "struct box : shape { int w; __device__ box(int w) : w(w) {} __device__ int area(int h) { return w * h; } };\n"
        "struct line : shape { __device__ int area(int h) { return h + 1000; } };\n"
        "extern \"C\" __global__ void k(int *out) {\n"
        "  int i = threadIdx.x, v[16];\n"
        "  for (int j = 0; j < 16; j++) v[j] = i * j;\n"
        "  out[i] = fact(i % 10);\n"
        "  out[64 + i] = table[i & 1](i);\n"
        "  shape *s; if (i % 3) s = new box(i); else s = new line;\n"
        "  out[128 + i] = s->area(i); delete s;\n"
        "  out[192 + i] = v[(out[i] + i) % 16];\n"
        "  switch (i % 6) { case 0: i += 7; break; case 1: i *= 3; break; case 2: i = -i; break; case 3: i ^= 85; "
        "break;\n"
        "    case 4: i <<= 2; break; default: i = 5; }\n"
        "  out[256 + threadIdx.x] = i;\n"
        "}\n");
    int *out = cpu_buffer(&c, "out", KB_I32, 320, NULL);
    uint64_t p = cpu_address(&c, 0);
    cpu_run(&c, "k", 1, 64, 0, &p, NULL);
    for (int i = 0; i < 64; i++) {
        int f = 1;
        for (int j = 2; j <= i % 10; j++)
            f *= j;
        assert_int_equal(out[i], f);
        assert_int_equal(out[64 + i], i & 1 ? i * i : 2 * i);
        assert_int_equal(out[128 + i], i % 3 ? i * i : i + 1000);
        assert_int_equal(out[192 + i], i * ((f + i) % 16));
        const int cases[] = {i + 7, i * 3, -i, i ^ 85, i << 2, 5};
        assert_int_equal(out[256 + i], cases[i % 6]);
    }
    cpu_close(&c);
}

static void test_globals(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    const char *source =
        "__device__ int count = 5; __constant__ float weights[3] = { 1.5f, -2, 4 };\n"
        "__device__ int data[4] = { 1, 2, 3, 4 }; __device__ int *pointer = data + 2;\n"
        "__device__ const char *names[2] = { \"one\", \"two\" }; __managed__ int both[2] = { 3, 8 };\n"
        "extern \"C\" __global__ void k(float *out) { out[threadIdx.x] = weights[threadIdx.x % 3];\n"
        "  if (threadIdx.x == 0) { out[8] = ++count; out[9] = *pointer; out[10] = names[1][1]; data[2] = 9;\n"
        "  out[11] = both[1]; } }\n";
    for (int i = 0; i < 2; i++) { // globals are fresh at each load
        char *ptx = cuda_to_ptx(source, NULL);
        if (!ptx) {
            cpu_close(&c);
            skip();
        }
        cpu_load(&c, ptx);
        free(ptx);
        float *out = cpu_buffer(&c, "out", KB_F32, 16, NULL);
        uint64_t p = cpu_address(&c, i);
        cpu_run(&c, "k", 1, 8, 0, &p, NULL);
        assert_true(out[0] == 1.5f && out[1] == -2 && out[2] == 4 && out[5] == 4);
        assert_true(out[8] == 6 && out[9] == 3 && out[10] == 'w' && out[11] == 8);
    }
    cpu_close(&c);
}

// Runs f with stdout going into a file and gives back its text.
static char *captured(struct cpu *c, void (*f)(struct cpu *))
{
    char path[] = KB_BUILD_DIR "/printed-XXXXXX";
    int fd = mkstemp(path), saved = dup(1);
    assert_true(fd >= 0 && saved >= 0);
    fflush(stdout);
    dup2(fd, 1);
    f(c);
    fflush(stdout);
    dup2(saved, 1);
    close(saved);
    close(fd);
    char *text = NULL;
    size_t size;
    assert_int_equal(kb_file_read(path, 1 << 24, &text, &size, &c->error), 0);
    unlink(path);
    return text;
}

static void run_printer(struct cpu *c)
{
    int n = 3;
    cpu_run(c, "k", 1, 2, 0, &n, NULL);
}

static void run_many(struct cpu *c)
{
    cpu_run(c, "many", 1000, 256, 0, NULL);
}

static void test_printf(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_load_cuda(&c, "extern \"C\" int printf(const char *, ...);\n"
                      "extern \"C\" __global__ void k(int n) { int r = "
                      "printf(\"%d|%5.2f|%s|%c|%lld|%x|%%|%-4u|%p\\n\", -n, 2.5f * n, \"text\", 'q',\n"
                      "  1234567890123ll, 255, 7u + threadIdx.x, (void *)16); if (r != 8) printf(\"BAD %d\\n\", r); }\n"
                      "extern \"C\" __global__ void many() { printf(\"line of thread %d\\n\", threadIdx.x); }\n");
    char *text = captured(&c, run_printer);
    assert_string_equal(text,
                        "-3| 7.50|text|q|1234567890123|ff|%|7   |0x10\n-3| 7.50|text|q|1234567890123|ff|%|8   |0x10\n");
    free(text);
    text = captured(&c, run_many); // bounded, and what was dropped is counted
    assert_true(strlen(text) < 2 << 20);
    assert_non_null(strstr(text, "further calls of printf was dropped"));
    free(text);
    cpu_close(&c);
}

static void test_assert(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_load_cuda(&c, "extern \"C\" __global__ void k(int n) { assert(threadIdx.x + 1 < n); }\n"
                      "extern \"C\" __global__ void t(int n) { if (n > 3) __trap(); }\n");
    int n = 20;
    assert_int_equal(cpu_try(&c, "k", 1, 32, 0, &n, NULL), -1);
    assert_int_equal(c.device->fault.kind, KB_FAULT_POISONED);
    assert_string_equal(c.device->fault.name, "CUDA_ERROR_ASSERT");
    assert_non_null(strstr(c.error.what, "threadIdx.x + 1 < n"));
    assert_non_null(strstr(c.error.what, "thread (19,0,0)"));
    assert_int_equal(cpu_try(&c, "t", 1, 32, 0, &n, NULL), -1);
    assert_non_null(strstr(c.error.what, "trap"));
    n = 3;
    cpu_run(&c, "t", 1, 32, 0, &n, NULL);
    cpu_close(&c);
}

static void test_cooperative(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_load_cuda(
        &c, "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n"
            "namespace cg = cooperative_groups;\n"
            "extern \"C\" __global__ void k(int *x, int n) { auto g = cg::this_grid(); int r = g.thread_rank();\n"
            "  for (int i = 0; i < n; i++) { int left = x[(r + 1) % g.size()]; g.sync(); x[r] += left; g.sync(); } }\n"
            "extern \"C\" __global__ void tiles(int *x) { auto b = cg::this_thread_block(); auto t = "
            "cg::tiled_partition<8>(b);\n"
            "  int v = x[b.thread_rank()]; x[b.thread_rank()] = cg::reduce(t, v, cg::plus<int>()) + t.shfl_xor(v, 3) * "
            "1000;\n"
            "  auto a = cg::coalesced_threads(); if (v & 1) { auto o = cg::coalesced_threads(); x[64 + "
            "b.thread_rank()] = o.size(); } }\n");
    enum { N = 40 * 64 };
    int *x = cpu_buffer(&c, "x", KB_I32, N, NULL), n = 5, want[N], next[N];
    for (int i = 0; i < N; i++)
        x[i] = want[i] = i % 7;
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < N; i++)
            next[i] = want[i] + want[(i + 1) % N];
        memcpy(want, next, sizeof want);
    }
    uint64_t p = cpu_address(&c, 0);
    const void *args[] = {&p, &n};
    if (cpu_try_args(&c, "k", (int64_t[3]){40, 1, 1}, (int64_t[3]){64, 1, 1}, 0, true, 2, args))
        fail_msg("%s", kb_error_line(&c.error));
    for (int i = 0; i < N; i++)
        assert_int_equal(x[i], want[i]);
    for (int i = 0; i < 64; i++)
        x[i] = i * 5;
    cpu_run(&c, "tiles", 1, 64, 0, &p, NULL);
    for (int i = 0; i < 64; i++) {
        int sum = 0;
        for (int k = i / 8 * 8; k < i / 8 * 8 + 8; k++)
            sum += k * 5;
        assert_int_equal(x[i], sum + (i ^ 3) * 5 * 1000);
        if (i & 1)
            assert_int_equal(x[64 + i], 16);
    }
    cpu_close(&c);
}

static void test_locks(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_load_cuda(&c, "extern \"C\" __global__ void lock(int *mutex, volatile int *x) {\n"
                      "  while (atomicCAS(mutex, 0, 1) != 0) ;\n"
                      "  __threadfence(); *x = *x + 1; __threadfence(); atomicExch(mutex, 0); }\n"
                      "extern \"C\" __global__ void chain(volatile int *flag, int n) {\n"
                      "  if (threadIdx.x == 0) { int b = gridDim.x - 1 - blockIdx.x; while (flag[b] == 0) ; flag[b + "
                      "1] = flag[b] + 1; } }\n"
                      "extern \"C\" __global__ void pairs(volatile int *flag) { int t = threadIdx.x; if (t & 1) { "
                      "while (!flag[t - 1]) ; flag[t] = 2; } else { flag[t] = 1; while (!flag[t + 1]) ; } }\n");
    int *m = cpu_buffer(&c, "mutex", KB_I32, 1, NULL), *x = cpu_buffer(&c, "x", KB_I32, 1, NULL);
    uint64_t pm = cpu_address(&c, 0), px = cpu_address(&c, 1);
    cpu_run(&c, "lock", 20, 64, 0, &pm, &px, NULL); // lanes of one warp fight for it too
    assert_int_equal(*x, 20 * 64);
    assert_int_equal(*m, 0);
    int *flag = cpu_buffer(&c, "flag", KB_I32, 101, NULL), n = 100;
    flag[0] = 1;
    uint64_t pf = cpu_address(&c, 2);
    cpu_run(&c, "chain", 100, 32, 0, &pf, &n, NULL); // the last block to start is the first to be able to end
    assert_int_equal(flag[100], 101);
    int *pairs = cpu_buffer(&c, "pairs", KB_I32, 64, NULL);
    uint64_t pp = cpu_address(&c, 3);
    cpu_run(&c, "pairs", 1, 64, 0, &pp, NULL);
    assert_int_equal(pairs[63], 2);
    cpu_close(&c);
}

static void test_atomics(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_load_cuda(&c, "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
                      "extern \"C\" __global__ void k(int *i, float *f, double *d, unsigned long long *q, __half2 *h, "
                      "__nv_bfloat162 *w) {\n"
                      "  __shared__ int s[2]; int t = threadIdx.x; if (t < 2) s[t] = 0; __syncthreads();\n"
                      "  atomicAdd(&s[t & 1], t); atomicAdd(&i[0], 1); atomicMax(&i[1], t - 100); atomicMin(&i[2], "
                      "-t); atomicOr(&i[3], 1 << (t % 32));\n"
                      "  atomicXor(&i[4], t); atomicInc((unsigned *)&i[5], 10); atomicDec((unsigned *)&i[6], 10); "
                      "atomicAnd(&i[7], ~(1 << (t % 8)));\n"
                      "  atomicAdd(f, 0.5f); atomicAdd(d, 0.25); atomicAdd(q, 1ull << 33); atomicMax(q + 1, (unsigned "
                      "long long)t << 40); atomicCAS(q + 2, 0ull, 77ull);\n"
                      "  atomicAdd(h, __floats2half2_rn(1, 2)); atomicAdd(w, __floats2bfloat162_rn(1, 0.5f));\n"
                      "  int old = atomicExch(&i[8], t); __syncthreads(); if (t == 0) { i[9] = s[0]; i[10] = s[1]; } "
                      "if (old == -5) i[11] = 1; }\n");
    int *i = cpu_buffer(&c, "i", KB_I32, 16, NULL);
    float *f = cpu_buffer(&c, "f", KB_F32, 1, NULL);
    double *d = cpu_buffer(&c, "d", KB_F64, 1, NULL);
    uint64_t *q = cpu_buffer(&c, "q", KB_I64, 3, NULL);
    uint32_t *h = cpu_buffer(&c, "h", KB_I32, 1, NULL), *w = cpu_buffer(&c, "w", KB_I32, 1, NULL);
    i[1] = -1000;
    i[7] = 0xff;
    i[8] = -5;
    uint64_t p[6];
    for (int k = 0; k < 6; k++)
        p[k] = cpu_address(&c, k);
    cpu_run(&c, "k", 1, 128, 0, &p[0], &p[1], &p[2], &p[3], &p[4], &p[5], NULL);
    int x = 0;
    for (int t = 0; t < 128; t++)
        x ^= t;
    assert_int_equal(i[0], 128);
    assert_int_equal(i[1], 27);
    assert_int_equal(i[2], -127);
    assert_int_equal(i[3], -1);
    assert_int_equal(i[4], x);
    assert_int_equal(i[5], 128 % 11);
    assert_int_equal(i[6], 10 - 127 % 11);
    assert_int_equal(i[7], 0);
    assert_int_equal(i[9], 64 * 63);
    assert_int_equal(i[10], 64 * 64);
    assert_int_equal(i[11], 1);
    assert_true(*f == 64 && *d == 32 && q[0] == 128ull << 33 && q[1] == 127ull << 40 && q[2] == 77);
    assert_int_equal(*h, 0x5c005800); // 256, 128 in f16
    assert_int_equal(*w, 0x42804300); // 64, 128 in bf16
    assert_true(cpu_fact(&c, "atomics") == 128 * 17);
    cpu_close(&c);
}

static void test_async_copies(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_load_cuda(&c, "#include <cuda_pipeline.h>\n"
                      "extern \"C\" __global__ void k(const float4 *a, float *out, int waits) { __shared__ float4 "
                      "s[2][32]; int t = threadIdx.x;\n"
                      "  __pipeline_memcpy_async(&s[0][t], a + t, 16); __pipeline_commit();\n"
                      "  __pipeline_memcpy_async(&s[1][t], a + 32 + t, 16, 8); __pipeline_commit();\n"
                      "  if (waits) __pipeline_wait_prior(1); __syncwarp(); out[t] = s[0][31 - t].y; "
                      "__pipeline_wait_prior(0); __syncwarp();\n"
                      "  out[32 + t] = s[1][31 - t].x + s[1][31 - t].z; }\n");
    float *a = cpu_buffer(&c, "a", KB_F32, 256, NULL), *out = cpu_buffer(&c, "out", KB_F32, 64, NULL);
    for (int i = 0; i < 256; i++)
        a[i] = (float)i;
    uint64_t pa = cpu_address(&c, 0), po = cpu_address(&c, 1);
    int waits = 1;
    cpu_run(&c, "k", 1, 32, 0, &pa, &po, &waits, NULL);
    for (int t = 0; t < 32; t++) {
        assert_true(out[t] == (float)(4 * (31 - t) + 1));
        assert_true(out[32 + t] == (float)(128 + 4 * (31 - t))); // the upper 8 bytes are zeros
    }
    waits = 0; // without its wait the copy has not arrived
    cpu_run(&c, "k", 1, 32, 0, &pa, &po, &waits, NULL);
    assert_true(out[0] != out[0]);
    cpu_close(&c);
}

static void test_barrier_objects(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_load_cuda(
        &c, "extern \"C\" __global__ void k(int *out, int n) {\n"
            "  __shared__ unsigned long long bar; __shared__ int s[128]; int t = threadIdx.x;\n"
            "  unsigned b = (unsigned)__cvta_generic_to_shared(&bar);\n"
            "  if (t == 0) asm volatile(\"mbarrier.init.shared::cta.b64 [%0], %1;\" :: \"r\"(b), \"r\"(128));\n"
            "  __syncthreads();\n"
            "  for (int i = 0; i < n; i++) {\n"
            "    s[t] = i + t; unsigned long long state;\n"
            "    asm volatile(\"mbarrier.arrive.shared::cta.b64 %0, [%1];\" : \"=l\"(state) : \"r\"(b) : \"memory\");\n"
            "    asm volatile(\"{ .reg .pred p; WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra "
            "DONE; bra WAIT; DONE: }\" :: \"r\"(b), \"r\"(i & 1) : \"memory\");\n"
            "    out[t] += s[127 - t];\n"
            "    __syncthreads(); }\n"
            "}\n");
    int *out = cpu_buffer(&c, "out", KB_I32, 128, NULL), n = 6;
    uint64_t p = cpu_address(&c, 0);
    cpu_run(&c, "k", 1, 128, 0, &p, &n, NULL);
    for (int t = 0; t < 128; t++)
        assert_int_equal(out[t], 6 * (127 - t) + 15);
    cpu_close(&c);
}

static void test_warp_functions(void **state)
{
    (void)state;
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_load_cuda(
        &c,
        "extern \"C\" __global__ void k(unsigned *out) { int t = threadIdx.x; unsigned m = ~0u;\n"
        "  out[t] = __shfl_up_sync(m, t, 3); out[32 + t] = __shfl_down_sync(m, t, 5, 8); out[64 + t] = "
        "__shfl_xor_sync(m, t, 6);\n"
        "  out[96 + t] = __shfl_sync(m, t, t * 7, 16); out[128 + t] = __ballot_sync(m, t % 3 == 0); out[160 + t] = "
        "__any_sync(m, t == 40) + 2 * __all_sync(m, t < 32);\n"
        "  out[192 + t] = __match_any_sync(m, t / 5); int pred; out[224 + t] = __match_all_sync(m, 9, &pred) + pred;\n"
        "  out[256 + t] = __reduce_add_sync(m, t); out[288 + t] = __reduce_max_sync(m, t ^ 21); out[320 + t] = "
        "__reduce_min_sync(m, -t);\n"
        "  if (t & 1) out[352 + t] = __activemask(); else out[352 + t] = __ballot_sync(0x55555555, t > 9);\n"
        "  if (t < 13) { out[384 + t] = __reduce_xor_sync(0x1fff, t); __syncwarp(0x1fff); } else "
        "__syncwarp(~0x1fffu);\n"
        "  out[416 + t] = __shfl_sync(m, out[t] + 1, 31); long long big = __shfl_xor_sync(m, (long long)t << 35, 1); "
        "out[448 + t] = big >> 35; }\n");
    unsigned *out = cpu_buffer(&c, "out", KB_I32, 480, NULL);
    uint64_t p = cpu_address(&c, 0);
    cpu_run(&c, "k", 1, 32, 0, &p, NULL);
    for (unsigned t = 0; t < 32; t++) {
        assert_int_equal(out[t], t < 3 ? t : t - 3);
        assert_int_equal(out[32 + t], t % 8 + 5 < 8 ? t + 5 : t);
        assert_int_equal(out[64 + t], t ^ 6);
        assert_int_equal(out[96 + t], t / 16 * 16 + t * 7 % 16);
        assert_int_equal(out[128 + t], 0x49249249);
        assert_int_equal(out[160 + t], 2);
        unsigned same = 0;
        for (unsigned k = 0; k < 32; k++)
            same |= (unsigned)(k / 5 == t / 5) << k;
        assert_int_equal(out[192 + t], same);
        assert_int_equal(out[224 + t], 0);
        assert_int_equal(out[256 + t], 496);
        assert_int_equal(out[288 + t], 31);
        assert_int_equal(out[320 + t], (unsigned)-31);
        assert_int_equal(out[352 + t], t & 1 ? 0xaaaaaaaa : 0x55555400);
        if (t < 13)
            assert_int_equal(out[384 + t], 12);
        assert_int_equal(out[416 + t], 29);
        assert_int_equal(out[448 + t], t ^ 1);
    }
    cpu_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),           cmocka_unit_test(test_globals),
        cmocka_unit_test(test_printf),          cmocka_unit_test(test_assert),
        cmocka_unit_test(test_cooperative),     cmocka_unit_test(test_locks),
        cmocka_unit_test(test_atomics),         cmocka_unit_test(test_async_copies),
        cmocka_unit_test(test_barrier_objects), cmocka_unit_test(test_warp_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
