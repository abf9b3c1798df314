// The vector handlers give the same bits on every instruction set, and touch active lanes only.
#include "support_cpu.h"

#include "base/memory.h"
#include "jit/ptx/lanes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SLOT = 256, FRAME = 64 + 5 * SLOT };

static uint64_t random_bits(void)
{
    static uint64_t s = 0x2545f4914f6cdd1dull;
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return s * 0x9e3779b97f4a7c15ull;
}

static void randomize(uint64_t *frame)
{
    static const uint64_t edges[] = {0,
                                     1ull << 63,
                                     0x3ff0000000000000,
                                     0x7ff0000000000000,
                                     0x7ff8000000000000,
                                     0x3f80000000000000,
                                     0x7f8000007f800000,
                                     0x8000000080000000,
                                     0xffffffffffffffff,
                                     0x0000001f0000001f,
                                     0x7fffffff7fffffff,
                                     0x0000000100000001,
                                     0x4330000000000000,
                                     0x3f8000013f800001};
    for (int i = 0; i < FRAME / 8; i++) {
        uint64_t r = random_bits();
        frame[i] = r % 3 ? r >> (r % 5 ? 0 : r % 64) : edges[(r >> 8) % KB_COUNT(edges)];
    }
}

static void run(ptx_handler *handler, void *frame, uint32_t mask)
{
    struct ptx_warp w = {.R = frame};
    struct ptx_op o = {.operand_count = 4};
    for (unsigned i = 0; i < 4; i++)
        o.r[i] = 64 + i * SLOT;
    handler(&w, &o, mask);
}

// NaN payloads of double precision are left open.
static bool same(const char *key, const uint64_t *a, const uint64_t *b)
{
    for (int i = 0; i < FRAME / 8; i++) {
        double x, y;
        memcpy(&x, &a[i], 8);
        memcpy(&y, &b[i], 8);
        bool f64 = strstr(key, "_f64") != NULL || !strncmp(key, "f64", 3);
        if (a[i] != b[i] && !(f64 && x != x && y != y))
            return false;
    }
    return true;
}

static void compare(const struct ptx_handler_entry *table, const char *name)
{
    uint64_t *start = aligned_alloc(64, FRAME), *one = aligned_alloc(64, FRAME), *two = aligned_alloc(64, FRAME);
    int checked = 0;
    for (int i = 0; table[i].key; i++) {
        assert_string_equal(table[i].key, ptx_lanes_sse2[i].key);
        if (!strcmp(table[i].key, "ld") || !strcmp(table[i].key, "st"))
            continue;
        for (int n = 0; n < 200; n++) {
            uint32_t mask = n % 2 ? 0xffffffffu : (uint32_t)random_bits();
            randomize(start);
            memcpy(one, start, FRAME);
            memcpy(two, start, FRAME);
            run(ptx_lanes_sse2[i].run, one, mask);
            run(table[i].run, two, mask);
            if (!same(table[i].key, one, two))
                fail_msg("%s differs between the baseline and %s", table[i].key, name);
            checked++;
        }
    }
    assert_true(checked > 20000);
    free(start);
    free(one);
    free(two);
}

static bool host_has_avx2(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
#else
    return false;
#endif
}

static bool host_has_avx512(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512cd");
#else
    return false;
#endif
}

static void test_avx2(void **state)
{
    (void)state;
    if (!host_has_avx2())
        skip();
    compare(ptx_lanes_avx2, "AVX2");
}

static void test_avx512(void **state)
{
    (void)state;
    if (!host_has_avx512())
        skip();
    compare(ptx_lanes_avx512, "AVX-512");
}

static void test_masks(void **state)
{
    (void)state;
    uint32_t *start = aligned_alloc(64, FRAME), *after = aligned_alloc(64, FRAME);
    for (int n = 0; n < 100; n++) {
        uint32_t mask = (uint32_t)random_bits();
        randomize((uint64_t *)start);
        memcpy(after, start, FRAME);
        run(ptx_find_handler("add_b32"), after, mask);
        const uint32_t *a = start + (64 + SLOT) / 4, *b = start + (64 + 2 * SLOT) / 4, *d = start + 16,
                       *got = after + 16;
        for (int i = 0; i < 32; i++)
            assert_int_equal(got[i], mask >> i & 1 ? a[i] + b[i] : d[i]);
        memcpy(after, start, FRAME);
        run(ptx_find_handler("lt_s32"), after, mask);
        uint32_t want = 0;
        for (int i = 0; i < 32; i++)
            want |= (uint32_t)((int32_t)a[i] < (int32_t)b[i]) << i;
        assert_int_equal(after[16], (want & mask) | (start[16] & ~mask));
    }
    free(start);
    free(after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_avx2), cmocka_unit_test(test_avx512),
                                       cmocka_unit_test(test_masks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
