// Results that a GPU (H200, compute capability 9.0) gave where the PTX manual says it in a note, or not at all.
#include "support_cpu.h"

#include "base/memory.h"

#include <stdio.h>

struct row {
    const char *text;
    char result;
    uint64_t a, b, c, want;
};

static void check(const struct row *rows, size_t n)
{
    struct cpu c;
    cpu_open(&c, NULL);
    for (size_t i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        uint64_t out = 0;
        cpu_statements(&c, r->text, r->result, 1, &r->a, &r->b, &r->c, &out);
        if (out != r->want)
            fail_msg("%s of 0x%llx, 0x%llx, 0x%llx: 0x%llx, not 0x%llx", r->text, (unsigned long long)r->a,
                     (unsigned long long)r->b, (unsigned long long)r->c, (unsigned long long)out,
                     (unsigned long long)r->want);
    }
    cpu_close(&c);
}

// Flushed is what is below the least normal number once it is rounded as if exponents had no lower end.
static void test_flushed_results(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"mul.ftz.f32 %f9, %f0, %f1;", 'f', 0x3f7fffff, 0x00800000, 0, 0},
        {"mul.f32 %f9, %f0, %f1;", 'f', 0x3f7fffff, 0x00800000, 0, 0x00800000},
        {"mul.ftz.f32 %f9, %f0, %f1;", 'f', 0x80800000, 0x3f7fffff, 0, 0x80000000},
        {"mul.ftz.sat.f32 %f9, %f0, %f1;", 'f', 0x3f7fffff, 0x00800000, 0, 0},
        {"mul.rm.ftz.f32 %f9, %f0, %f1;", 'f', 0x3f7fffff, 0x80800000, 0, 0x80000000},
        {"mul.rp.ftz.f32 %f9, %f0, %f1;", 'f', 0x3f7fffff, 0x00800000, 0, 0},
        {"mul.rp.ftz.sat.f32 %f9, %f0, %f1;", 'f', 0x00800000, 0x3f7fffff, 0, 0},
        {"div.rm.ftz.f32 %f9, %f0, %f1;", 'f', 0x80800000, 0x3f800001, 0, 0x80000000},
        {"div.rp.ftz.f32 %f9, %f0, %f1;", 'f', 0x00800000, 0x3f800001, 0, 0},
        {"mul.ftz.f16 %h9, %h0, %h1;", 'h', 0x3bff, 0x0400, 0, 0},
        {"mul.rn.ftz.sat.f16 %h9, %h0, %h1;", 'h', 0x0400, 0x3bff, 0, 0},
        {"mul.f16 %h9, %h0, %h1;", 'h', 0x3bff, 0x8400, 0, 0x8400},
        {"mul.ftz.f16 %h9, %h0, %h1;", 'h', 0x3bff, 0x8400, 0, 0x8000},
        {"mul.ftz.f16x2 %r9, %r0, %r1;", 'r', 0x3bff3c01, 0x84008001, 0, 0x80008000},
        {"mul.ftz.f16x2 %r9, %r0, %r1;", 'r', 0x04003bff, 0xfe010400, 0, 0x7fff0000},
        {"mul.ftz.sat.f16x2 %r9, %r0, %r1;", 'r', 0x040083ff, 0x3bff0000, 0, 0},
        {"fma.rn.ftz.f16 %h9, %h0, %h1, %h2;", 'h', 0x3bff, 0x8400, 0x83ff, 0x8000},
        {"fma.rn.ftz.relu.f16 %h9, %h0, %h1, %h2;", 'h', 0x0400, 0x3bff, 0x82d6, 0},
        {"fma.rn.ftz.f16x2 %r9, %r0, %r1, %r2;", 'r', 0x8870180c, 0x0843b07e, 0x04001400, 0x000011ba},
        {"fma.rn.ftz.sat.f16x2 %r9, %r0, %r1, %r2;", 'r', 0x14000400, 0x3e003bff, 0x02000000, 0x16000000},
        // Less than 2^-14, but that when rounded, so it stays.
        {"fma.rn.ftz.f16 %h9, %h0, %h1, %h2;", 'h', 0x8911, 0x05cb, 0x0400, 0x0400},
        {"fma.rz.ftz.f32 %f9, %f0, %f1, %f2;", 'f', 0x5f800000, 0xbf800000, 0x7f7fffff, 0x7f7ffffe},
        {"fma.rm.ftz.sat.f32 %f9, %f0, %f1, %f2;", 'f', 0x5f800000, 0xbf800000, 0x7f7fffff, 0x3f800000},
        {"cvt.rn.ftz.f32.f64 %f9, %g0;", 'f', 0x380fffffe0000000, 0, 0, 0},
        {"cvt.rn.ftz.sat.f32.f64 %f9, %g0;", 'f', 0x380fffffe0000000, 0, 0, 0},
        {"cvt.rp.ftz.f32.f64 %f9, %g0;", 'f', 0x380fffffe0000000, 0, 0, 0},
        {"cvt.rn.f32.f64 %f9, %g0;", 'f', 0x380fffffe0000000, 0, 0, 0x00800000},
    };
    check(rows, KB_COUNT(rows));
}

// The same rule where no GPU was asked: (1 + 2^-13)(1 - 2^-13) is 1 - 2^-26, which rounds to 1.
static void test_threshold(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"mul.ftz.f32 %f9, %f0, %f1;", 'f', 0x3f000400, 0x00fff800, 0, 0x00800000},
        {"mul.rz.ftz.f32 %f9, %f0, %f1;", 'f', 0x3f000400, 0x00fff800, 0, 0},
        {"mul.rp.ftz.f32 %f9, %f0, %f1;", 'f', 0x3f000400, 0x00fff800, 0, 0x00800000},
        {"fma.rn.ftz.f32 %f9, %f0, %f1, %f2;", 'f', 0x13000000, 0x9a000000, 0x00800000, 0x00800000},
        {"fma.rn.ftz.f32 %f9, %f0, %f1, %f2;", 'f', 0x3f7fffff, 0x00800000, 0, 0},
        {"fma.rm.ftz.f32 %f9, %f0, %f1, %f2;", 'f', 0x1a000000, 0x9a000000, 0x00800000, 0},
        {"fma.rn.ftz.f32 %f9, %f0, %f1, %f2;", 'f', 0x7f000000, 0x7f000000, 0xff800000, 0xff800000},
        {"div.rn.ftz.f32 %f9, %f0, %f1;", 'f', 0x00ffffff, 0x40000000, 0, 0},
        {"div.rn.f32 %f9, %f0, %f1;", 'f', 0x00ffffff, 0x40000000, 0, 0x00800000},
        {"rcp.rp.ftz.f32 %f9, %f0;", 'f', 0x7e800001, 0, 0, 0},
        {"rcp.rn.ftz.f32 %f9, %f0;", 'f', 0x7e800000, 0, 0, 0x00800000},
        {"cvt.rn.ftz.f32.f64 %f9, %g0;", 'f', 0x380fffffefffffff, 0, 0, 0},
        {"cvt.rn.ftz.f32.f64 %f9, %g0;", 'f', 0x380ffffff0000000, 0, 0, 0x00800000},
    };
    check(rows, KB_COUNT(rows));
}

static void test_notes_of_the_manual(void **state)
{
    (void)state;
    static const struct row rows[] = {
        // The upper word alone counts, subnormals are flushed.
        {"rcp.approx.ftz.f64 %g9, %g0;", 'g', 0x7ff0000000000001, 0, 0, 0},
        {"rcp.approx.ftz.f64 %g9, %g0;", 'g', 0x000fffffffffffff, 0, 0, 0x7ff0000000000000},
        {"rcp.approx.ftz.f64 %g9, %g0;", 'g', 0x7fefffffffffffff, 0, 0, 0},
        {"rcp.approx.ftz.f64 %g9, %g0;", 'g', 0x4000000012345678, 0, 0, 0x3fe0000000000000},
        {"rcp.approx.ftz.f64 %g9, %g0;", 'g', 0xfff8000000000001, 0, 0, 0x7fffffff00000000},
        {"rsqrt.approx.ftz.f64 %g9, %g0;", 'g', 0x7ff0000000000001, 0, 0, 0},
        {"rsqrt.approx.ftz.f64 %g9, %g0;", 'g', 1, 0, 0, 0x7ff0000000000000},
        {"rsqrt.approx.ftz.f64 %g9, %g0;", 'g', 0x8000000000000001, 0, 0, 0xfff0000000000000},
        {"testp.normal.f32 %p9, %f0;", 'p', 0, 0, 0, 1},
        {"testp.normal.f32 %p9, %f0;", 'p', 0x80000000, 0, 0, 1},
        {"testp.normal.f32 %p9, %f0;", 'p', 1, 0, 0, 0},
        {"testp.normal.f64 %p9, %g0;", 'p', 0x8000000000000000, 0, 0, 1},
        {"testp.normal.f64 %p9, %g0;", 'p', 0x000fffffffffffff, 0, 0, 0},
        {"testp.subnormal.f64 %p9, %g0;", 'p', 0, 0, 0, 0},
        {"cvt.rna.tf32.f32 %r9, %f0;", 'r', 0x7f800001, 0, 0, 0x7f800000},
        {"mad24.hi.sat.s32 %r9, %r0, %r1, %r2;", 'r', 0x7fffff, 0x7fffff, 0x7fffffff, 0x7fffffff},
        {"mad24.hi.sat.s32 %r9, %r0, %r1, %r2;", 'r', 0x800000, 0x7fffff, 0x80000000, 0x80000000},
        {"mad24.hi.sat.s32 %r9, %r0, %r1, %r2;", 'r', 0x12345, 0x10000, 5, 0x1234a},
    };
    check(rows, KB_COUNT(rows));
}

// Sums of single precision in global memory flush subnormals, in shared memory they do not; the old value is given as
// it was.
static void test_atomic_sums(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "st.global.f32 [%d10], %f0; atom.global.add.f32 %f9, [%d10], %f1; ld.global.u32 %r10, [%d10];",
        "st.global.f32 [%d10], %f0; atom.add.f32 %f9, [%d10], %f1; ld.global.u32 %r10, [%d10];",
        "st.global.f32 [%d10], %f0; mov.f32 %f9, %f0; red.global.add.f32 [%d10], %f1; ld.global.u32 %r10, [%d10];",
        "st.shared.f32 [s], %f0; atom.shared.add.f32 %f9, [s], %f1; ld.shared.u32 %r10, [s];",
        "mov.u64 %d11, s; cvta.shared.u64 %d11, %d11; st.f32 [%d11], %f0; atom.add.f32 %f9, [%d11], %f1; "
        "ld.u32 %r10, [%d11];",
    };
    static const uint32_t in[][4] = {
        // value, added; what is left in global memory, in shared memory
        {0x00000001, 0x00000000, 0x00000000, 0x00000001}, {0x80000001, 0x00000000, 0x00000000, 0x80000001},
        {0x007fffff, 0x00000000, 0x00000000, 0x007fffff}, {0x807fffff, 0x80000000, 0x80000000, 0x807fffff},
        {0x00800000, 0x80800001, 0x80000000, 0x80000001}, {0x3f800000, 0x00000001, 0x3f800000, 0x3f800000},
    };
    struct cpu c;
    cpu_open(&c, NULL);
    cpu_buffer(&c, "place", KB_I32, 1, NULL);
    for (size_t i = 0; i < KB_COUNT(texts); i++) {
        char text[900];
        snprintf(text, sizeof text,
                 ".shared .align 4 .b8 s[4]; mov.u64 %%d10, 0x%llx; %s cvt.u64.u32 %%d9, %%r10; mov.b32 %%r11, %%f9; "
                 "cvt.u64.u32 %%d11, %%r11; shl.b64 %%d11, %%d11, 32; or.b64 %%d9, %%d9, %%d11;",
                 (unsigned long long)cpu_address(&c, 0), texts[i]);
        for (size_t k = 0; k < KB_COUNT(in); k++) {
            uint64_t a = in[k][0], b = in[k][1], zero = 0, out = 0;
            cpu_statements(&c, text, 'd', 1, &a, &b, &zero, &out);
            assert_int_equal((uint32_t)out, in[k][i < 3 ? 2 : 3]);
            assert_int_equal(out >> 32, in[k][0]);
        }
    }
    cpu_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_flushed_results), cmocka_unit_test(test_threshold),
                                       cmocka_unit_test(test_notes_of_the_manual), cmocka_unit_test(test_atomic_sums)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
