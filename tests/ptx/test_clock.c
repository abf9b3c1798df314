// Time as a kernel sees it: plausible for a GPU, and the same each time.
#include "support_cpu.h"

#include <stdio.h>
#include <string.h>

#define HEAD ".version 9.0\n.target sm_90a\n.address_size 64\n"

// Lane 0 of each warp stores x pairs of readings, `between` in the middle.
static char *pair_of(const char *reading, const char *between)
{
    static char text[2000];
    snprintf(text, sizeof text,
             HEAD ".visible .entry k(.param .u64 out, .param .u64 in) {\n"
                  ".reg .b64 %%d<8>; .reg .b32 %%r<4>; .reg .f32 %%f<4>;\n"
                  "ld.param.u64 %%d0, [out]; ld.param.u64 %%d1, [in];\n"
                  "mov.u32 %%r0, %%ctaid.x; mul.wide.u32 %%d2, %%r0, 16; add.u64 %%d0, %%d0, %%d2;\n"
                  "mov.u64 %%d3, %s; %s mov.u64 %%d4, %s;\n"
                  "st.global.u64 [%%d0], %%d3; st.global.u64 [%%d0+8], %%d4; ret; }\n",
             reading, between, reading);
    return text;
}

static uint64_t out[128];
static void read_pairs(const char *reading, const char *between, unsigned blocks)
{
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_load(&c, pair_of(reading, between));
    uint64_t *got = cpu_buffer(&c, "out", KB_I64, 128, NULL);
    cpu_buffer(&c, "in", KB_F32, 64, NULL);
    uint64_t to = cpu_address(&c, 0), from = cpu_address(&c, 1);
    cpu_run(&c, "k", blocks, 1, 0, &to, &from, NULL);
    memcpy(out, got, sizeof out);
    cpu_close(&c);
}

static void test_cycles(void **state)
{
    (void)state;
    enum { BLOCKS = 64 };
    uint64_t sum[2] = {0};
    int kinds = 0;
    for (int k = 0; k < 2; k++) {
        read_pairs("%clock64", k ? "ld.volatile.global.f32 %f0, [%d1];" : "", BLOCKS);
        uint64_t seen = out[1] - out[0];
        for (int i = 0; i < BLOCKS; i++) {
            uint64_t took = out[2 * i + 1] - out[2 * i];
            assert_in_range(took, k ? 200 : 5, k ? 2000 : 400);
            kinds += took != seen;
            sum[k] += took;
        }
    }
    assert_true(sum[1] > sum[0] + 200ull * BLOCKS); // a load from global memory takes its time
    assert_true(kinds > 8);                         // and no two readings are alike
}

static void test_timer_goes_with_the_clock(void **state)
{
    (void)state;
    read_pairs("%globaltimer", "nanosleep.u32 100000;", 1);
    assert_in_range(out[1] - out[0], 50000, 200000);
    assert_int_equal(out[0] % 32, 0);
    read_pairs("%clock64", "nanosleep.u32 100000;", 1);
    assert_in_range(out[1] - out[0], 80000, 400000);
}

static void test_reproducible(void **state)
{
    (void)state;
    uint64_t first[128];
    read_pairs("%clock64", "", 64);
    memcpy(first, out, sizeof first);
    read_pairs("%clock64", "", 64);
    assert_memory_equal(first, out, sizeof first);
}

// What one warp read before a barrier is not later than what another one reads behind it; nor what a block handed to
// another one by an atomic.
static void test_order(void **state)
{
    (void)state;
    static const char text[] =
        HEAD ".visible .entry k(.param .u64 out, .param .u64 turn) {\n"
             ".reg .b64 %d<8>; .reg .b32 %r<8>; .reg .pred %p<2>; .shared .align 8 .b8 told[64];\n"
             "ld.param.u64 %d0, [out]; ld.param.u64 %d6, [turn]; mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5;\n"
             "mov.u32 %r2, told; shl.b32 %r3, %r1, 3; add.u32 %r2, %r2, %r3;\n"
             "mov.u64 %d1, %clock64; st.shared.u64 [%r2], %d1; bar.sync 0; mov.u64 %d2, %clock64;\n"
             "xor.b32 %r4, %r1, 1; shl.b32 %r4, %r4, 3; mov.u32 %r5, told; add.u32 %r5, %r5, %r4;\n"
             "ld.shared.u64 %d3, [%r5]; sub.u64 %d4, %d2, %d3; mul.wide.u32 %d5, %r0, 8; add.u64 %d5, %d0, %d5;\n"
             "st.global.u64 [%d5], %d4; setp.ne.u32 %p0, %r0, 0; @%p0 ret;\n"
             "mov.u64 %d1, %globaltimer; atom.global.exch.b64 %d2, [%d6], %d1; mov.u64 %d3, %globaltimer;\n"
             "mov.u32 %r6, %ctaid.x; mul.wide.u32 %d4, %r6, 8; add.u64 %d4, %d0, %d4; sub.u64 %d3, %d3, %d2;\n"
             "st.global.u64 [%d4+1024], %d3; ret; }\n";
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_load(&c, text);
    int64_t *got = cpu_buffer(&c, "out", KB_I64, 160, NULL);
    cpu_buffer(&c, "turn", KB_I64, 1, NULL);
    uint64_t to = cpu_address(&c, 0), turn = cpu_address(&c, 1);
    cpu_run(&c, "k", 32, 64, 0, &to, &turn, NULL);
    for (int i = 0; i < 64; i++)
        assert_in_range(got[i], 1, 100000);
    for (int i = 0; i < 32; i++)
        assert_true(got[128 + i] >= 0);
    cpu_close(&c);
}

static void test_launches_follow_each_other(void **state)
{
    (void)state;
    struct cpu c;
    uint64_t before[2] = {0, 0};
    cpu_open(&c, NULL);
    cpu_load(&c, HEAD ".visible .entry k(.param .u64 out) { .reg .b64 %d<4>; ld.param.u64 %d0, [out];\n"
                      "mov.u64 %d1, %gridid; mov.u64 %d2, %clock64; st.global.v2.u64 [%d0], {%d1, %d2}; ret; }\n");
    uint64_t *got = cpu_buffer(&c, "out", KB_I64, 2, NULL), to = cpu_address(&c, 0);
    for (int i = 0; i < 3; i++) {
        cpu_run(&c, "k", 1, 1, 0, &to, NULL);
        assert_true(got[0] > before[0] && got[1] > before[1]);
        memcpy(before, got, sizeof before);
    }
    cpu_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cycles), cmocka_unit_test(test_timer_goes_with_the_clock),
                                       cmocka_unit_test(test_reproducible), cmocka_unit_test(test_order),
                                       cmocka_unit_test(test_launches_follow_each_other)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
