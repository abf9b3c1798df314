// Lanes of a warp that meet in .sync operations by different ways: other calls of one function, other instructions of
// the same kind; and those that never meet.
#include "support_cpu.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static const char source[] =
    "#define K extern \"C\" __global__ void\n"
    "#define F __device__ __noinline__ int\n"
    "F mirror(int v) { return __shfl_sync(~0u, v, 31 - threadIdx.x % 32) + 1; }\n"
    "K calls(int *y) { int t = threadIdx.x; if (t % 32 < 16) y[t] = mirror(t); else y[t] = mirror(t + 100); }\n"
    "F halves(int v, unsigned m) { return __shfl_xor_sync(m, v, 1); }\n"
    "K masks(int *y) { int t = threadIdx.x; if (t % 32 < 16) y[t] = halves(t, 0xffff); else y[t] = halves(t, "
    "0xffff0000); }\n"
    "K texts(int *y) { int t = threadIdx.x, v; if (t & 1)\n"
    "  asm volatile(\"shfl.sync.idx.b32 %0, %1, 4, 31, -1;\" : \"=r\"(v) : \"r\"(t * 3));\n"
    "  else asm volatile(\"shfl.sync.idx.b32 %0, %1, 5, 31, -1;\" : \"=r\"(v) : \"r\"(t * 7));\n"
    "  y[t] = v; }\n"
    "F barrier(int *s, int v) { int t = threadIdx.x; s[t] = v; __syncwarp(); v = s[t ^ 31]; __syncwarp(); return v; }\n"
    "K barriers(int *y) { __shared__ int s[64]; int t = threadIdx.x;\n"
    "  if (t % 3 == 0) y[t] = barrier(s, t); else if (t % 3 == 1) y[t] = barrier(s, 2 * t); else {\n"
    "  s[t] = 5 * t; __syncwarp(); y[t] = s[t ^ 31]; __syncwarp(); } }\n"
    "F many(int v) { int p; return __ballot_sync(~0u, v % 5 == 0) ^ __match_any_sync(~0u, v % 4) ^\n"
    "  __match_all_sync(~0u, 7ll, &p) ^ __reduce_add_sync(~0u, v) ^ __any_sync(~0u, v == 9) << 7; }\n"
    "K kinds(int *y) { int t = threadIdx.x; if (t & 4) y[t] = many(t); else y[t] = many(t + 0); }\n"
    "F deep(int n, int v) { if (n) return deep(n - 1, v + 1000) + 1; return __shfl_sync(~0u, v, (threadIdx.x + 1) % "
    "32); "
    "}\n"
    "K depths(int *y) { int t = threadIdx.x; y[t] = deep(t % 4, t); }\n"
    "K ended(int *y) { int t = threadIdx.x; if (t % 32 >= 24) return; if (t % 32 < 8) y[t] = mirror(t);\n"
    "  else y[t] = mirror(t); }\n"
    "K flag(volatile int *y) { int t = threadIdx.x; if (t == 31) { while (!y[40]) ; y[t] = 7; return; }\n"
    "  int v = t < 16 ? halves(t, 0x7fffffff) : halves(t + 0, 0x7fffffff); y[t] = v; __syncwarp(0x7fffffff);\n"
    "  if (t == 0) y[40] = 1; }\n"
    "__device__ __noinline__ void product(float *c, unsigned a, unsigned b) { asm volatile(\n"
    "  \"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};\"\n"
    "  : \"+f\"(c[0]), \"+f\"(c[1]), \"+f\"(c[2]), \"+f\"(c[3]) : \"r\"(a), \"r\"(b)); }\n"
    "K tensor(int *y) { int t = threadIdx.x; float c[4] = {0, 1, 2, 3}; if (t & 1) product(c, 0x3f800000, "
    "0x40000000);\n"
    "  else { product(c, 0x3f800000, 0x40000000); } y[t] = (int)c[3]; }\n"
    "K updown(int *y) { int t = threadIdx.x;\n"
    "  if (t < 16) y[t] = __shfl_up_sync(~0u, t, 1);\n"
    "  else y[t] = __shfl_down_sync(~0u, t, 1); }\n"
    "K unequal(int *y) { int t = threadIdx.x; if (t < 16) y[t] = halves(t, 0xfffff); else y[t] = halves(t, ~0u); }\n"
    "K overlap(int *y) { int t = threadIdx.x; y[t] = __shfl_sync(t < 16 ? 0xffffu : ~0u, t, t ^ 1); }\n"
    "K absent(int *y) { int t = threadIdx.x; if (t < 16) y[t] = halves(t, ~0u); __syncthreads(); }\n"
    "K outside(int *y) { int t = threadIdx.x; y[t] = __shfl_sync(0xffff, t, 0); }\n";

static int y[64];

static void run(struct cpu *c, const char *kernel, unsigned threads)
{
    uint64_t p = cpu_address(c, 0);
    memset(c->buffers[0].host, 0, sizeof y);
    cpu_run(c, kernel, 1, threads, 0, &p, NULL);
    memcpy(y, c->buffers[0].host, sizeof y);
}

static int many(int lanes, int lane)
{
    int ballot = 0, same = 0, sum = 0;
    for (int i = 0; i < lanes; i++) {
        ballot |= (int)((unsigned)(i % 5 == 0) << i);
        same |= (int)((unsigned)(i % 4 == lane % 4) << i);
        sum += i;
    }
    return ballot ^ same ^ -1 ^ sum ^ 1 << 7;
}

static void test_met(void **state)
{
    (void)state;
    static const char *const levels[] = {"bounds", "full"};
    for (size_t k = 0; k < KB_COUNT(levels); k++) {
        struct cpu c;
        cpu_open(&c, levels[k]);
        cpu_load_cuda(&c, source);
        cpu_buffer(&c, "y", KB_I32, 64, NULL);
        run(&c, "calls", 64);
        for (int t = 0; t < 64; t++) {
            int from = t / 32 * 32 + 31 - t % 32;
            assert_int_equal(y[t], from + (from % 32 < 16 ? 0 : 100) + 1);
        }
        run(&c, "masks", 64);
        for (int t = 0; t < 64; t++)
            assert_int_equal(y[t], t ^ 1);
        run(&c, "texts", 32);
        for (int t = 0; t < 32; t++)
            assert_int_equal(y[t], t & 1 ? 4 * 7 : 5 * 3);
        run(&c, "barriers", 64);
        for (int t = 0; t < 64; t++) {
            int from = t ^ 31;
            assert_int_equal(y[t], from % 3 == 0 ? from : from % 3 == 1 ? 2 * from : 5 * from);
        }
        char *text = cpu_report(&c, "race_in_warp", NULL);
        assert_null(text);
        run(&c, "kinds", 32);
        for (int t = 0; t < 32; t++)
            assert_int_equal(y[t], many(32, t));
        run(&c, "depths", 32);
        for (int t = 0; t < 32; t++)
            assert_int_equal(y[t], (t + 1) % 32 + 1000 * ((t + 1) % 4) + t % 4);
        run(&c, "ended", 32);
        for (int t = 8; t < 24; t++)
            assert_int_equal(y[t], 31 - t + 1);
        run(&c, "flag", 32);
        for (int t = 0; t < 30; t++)
            assert_int_equal(y[t], t ^ 1);
        assert_int_equal(y[31], 7);
        run(&c, "tensor", 32);
        for (int t = 0; t < 32; t++)
            assert_int_equal(y[t], 8 * 2 + 3);
        assert_null(cpu_report(&c, "member_mask", NULL));
        cpu_close(&c);
    }
}

static void test_unmet(void **state)
{
    (void)state;
    static const struct {
        const char *kernel, *texts[3];
    } rows[] = {
        {"updown", {"shfl.sync.down.b32 waits for lanes 0x0000ffff", "wait in shfl.sync.up.b32 at test.cu:"}},
        {"unequal", {"never arrive; lanes 0x0000ffff wait in it with the mask 0x000fffff, which PTX leaves undefined"}},
        {"absent", {"0xffff0000", "wait in a barrier of the block at test.cu:"}},
        {"outside", {"run by lane 16, which its member mask 0x0000ffff does not hold", "undefined"}},
    };
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_load_cuda(&c, source);
    cpu_buffer(&c, "y", KB_I32, 64, NULL);
    uint64_t p = cpu_address(&c, 0);
    for (size_t i = 0; i < KB_COUNT(rows); i++) {
        assert_int_equal(cpu_try(&c, rows[i].kernel, 1, 32, 0, &p, NULL), -1);
        for (int k = 0; rows[i].texts[k]; k++)
            if (!strstr(c.error.what, rows[i].texts[k]))
                fail_msg("%s: '%s' does not hold '%s'", rows[i].kernel, c.error.what, rows[i].texts[k]);
    }
    run(&c, "overlap", 32);
    int line = 0;
    char *text = cpu_report(&c, "member_mask", &line);
    assert_non_null(text);
    assert_non_null(strstr(text, "differ and overlap"));
    free(text);
    cpu_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_met), cmocka_unit_test(test_unmet)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
