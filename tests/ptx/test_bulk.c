// Bulk copies (cp.async.bulk without tensors) and barrier objects that count bytes.
#include "support_cpu.h"

#include <string.h>

static const char source[] =
    "#define K extern \"C\" __global__ void\n"
    "#define AT(p) ((unsigned)__cvta_generic_to_shared(p))\n"
    "__device__ void fetch(int *s, const int *x, unsigned n, unsigned long long *b) { asm volatile(\n"
    "  \"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];\"\n"
    "  :: \"r\"(AT(s)), \"l\"(x), \"r\"(n), \"r\"(AT(b)) : \"memory\"); }\n"
    "__device__ void expect(unsigned long long *b, unsigned n) { asm volatile(\n"
    "  \"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\" :: \"r\"(AT(b)), \"r\"(n) : \"memory\"); }\n"
    "__device__ void start(unsigned long long *b) { if (threadIdx.x == 0) { asm volatile(\n"
    "  \"mbarrier.init.shared::cta.b64 [%0], 1;\" :: \"r\"(AT(b)) : \"memory\");\n"
    "  asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\"); } __syncthreads(); }\n"
    "__device__ void wait(unsigned long long *b, int parity) { asm volatile(\"{.reg .pred p; again: \"\n"
    "  \"mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again; }\" :: \"r\"(AT(b)), \"r\"(parity)\n"
    "  : \"memory\"); }\n"
    "K ring(const int *x, int *y) { __shared__ alignas(16) int s[2][64]; __shared__ unsigned long long b[2];\n"
    "  int t = threadIdx.x; start(b); start(b + 1);\n"
    "  for (int i = 0; i < 2 && t == 0; i++) { expect(b + i, 256); fetch(s[i], x + 64 * i, 128, b + i);\n"
    "    fetch(s[i] + 32, x + 64 * i + 32, 128, b + i); }\n"
    "  for (int i = 0; i < 8; i++) { wait(b + i % 2, i / 2 % 2); y[i * 64 + t] = s[i % 2][63 - t]; __syncthreads();\n"
    "    if (t == 0 && i < 6) { fetch(s[i % 2], x + 64 * (i + 2), 256, b + i % 2); expect(b + i % 2, 256); } } }\n"
    "K unwaited(const int *x, int *y) { __shared__ alignas(16) int s[64]; __shared__ unsigned long long b;\n"
    "  int t = threadIdx.x; s[t] = -1; start(&b); if (t == 0) { expect(&b, 256); fetch(s, x, 256, &b); }\n"
    "  __syncthreads(); y[t] = s[t]; __syncthreads(); wait(&b, 0); y[64 + t] = s[t]; }\n"
    "K back(const int *x, int *y) { __shared__ alignas(16) int s[2][64]; int t = threadIdx.x;\n"
    "  for (int i = 0; i < 4; i++) { if (t == 0) asm volatile(\"cp.async.bulk.wait_group.read 1;\" ::: \"memory\");\n"
    "    __syncthreads(); s[i % 2][t] = x[i * 64 + t] * 3; asm volatile(\"fence.proxy.async.shared::cta;\" ::: "
    "\"memory\");\n"
    "    __syncthreads(); if (t == 0) { asm volatile(\"cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;\"\n"
    "      :: \"l\"(y + i * 64), \"r\"(AT(s[i % 2])) : \"memory\"); asm volatile(\"cp.async.bulk.commit_group;\"); } } "
    "}\n"
    "K reused(const int *x, int *y) { __shared__ alignas(16) int s[64]; int t = threadIdx.x; s[t] = x[t];\n"
    "  __syncthreads(); if (t == 0) { asm volatile(\"cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;\"\n"
    "      :: \"l\"(y), \"r\"(AT(s)) : \"memory\"); asm volatile(\"cp.async.bulk.commit_group;\"); }\n"
    "  __syncthreads(); s[t] = -5; }\n"
    "K odd(const int *x, int *y) { __shared__ alignas(16) int s[64]; __shared__ unsigned long long b; start(&b);\n"
    "  if (threadIdx.x == 0) { expect(&b, 64); fetch(s, x + 1, 64, &b); } wait(&b, 0); y[0] = s[0]; }\n"
    "K past(const int *x, int *y) { __shared__ alignas(16) int s[64]; __shared__ unsigned long long b; start(&b);\n"
    "  if (threadIdx.x == 0) { expect(&b, 64); fetch(s, x + 508, 32, &b); } wait(&b, 0); y[0] = s[0]; }\n";

static void open_all(struct cpu *c, const char *level, int **y)
{
    cpu_open(c, level);
    cpu_load_cuda(c, source);
    int *x = cpu_buffer(c, "x", KB_I32, 512, NULL);
    for (int i = 0; i < 512; i++)
        x[i] = 7 * i + 1;
    *y = cpu_buffer(c, "y", KB_I32, 512, NULL);
}

static void test_copies(void **state)
{
    (void)state;
    static const char *const levels[] = {"bounds", "full"};
    for (int l = 0; l < 2; l++) {
        struct cpu c;
        int *y;
        open_all(&c, levels[l], &y);
        uint64_t px = cpu_address(&c, 0), py = cpu_address(&c, 1);
        cpu_run(&c, "ring", 1, 64, 0, &px, &py, NULL);
        for (int i = 0; i < 512; i++)
            assert_int_equal(y[i], 7 * (i / 64 * 64 + 63 - i % 64) + 1);
        assert_null(cpu_report(&c, "race", NULL));
        assert_null(cpu_report(&c, "uninitialised", NULL));
        assert_true(cpu_fact(&c, "bytes.global_load") == 2048);
        memset(y, 0, 2048);
        cpu_run(&c, "back", 1, 64, 0, &px, &py, NULL);
        for (int i = 0; i < 256; i++)
            assert_int_equal(y[i], 3 * (7 * i + 1));
        assert_true(cpu_fact(&c, "bytes.global_store") == 1024);
        cpu_close(&c);
    }
}

// What is read or overwritten too early shows.
static void test_missing_waits(void **state)
{
    (void)state;
    struct cpu c;
    int *y;
    open_all(&c, NULL, &y);
    uint64_t px = cpu_address(&c, 0), py = cpu_address(&c, 1);
    cpu_run(&c, "unwaited", 1, 64, 0, &px, &py, NULL);
    for (int i = 0; i < 64; i++) {
        assert_int_equal(y[i], -1);
        assert_int_equal(y[64 + i], 7 * i + 1);
    }
    cpu_run(&c, "reused", 1, 64, 0, &px, &py, NULL);
    assert_int_equal(y[9], -5);
    assert_int_equal(cpu_try(&c, "odd", 1, 64, 0, &px, &py, NULL), -1);
    assert_string_equal(c.device->fault.name, "CUDA_ERROR_MISALIGNED_ADDRESS");
    assert_int_equal(cpu_try(&c, "past", 1, 64, 0, &px, &py, NULL), -1);
    assert_non_null(strstr(c.error.what, "x["));
    assert_string_equal(c.device->fault.name, "CUDA_ERROR_ILLEGAL_ADDRESS");
    cpu_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_copies), cmocka_unit_test(test_missing_waits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
