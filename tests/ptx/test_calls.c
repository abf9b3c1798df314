// Functions whose parameters and results are registers.
#include "support_cpu.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char head[] = ".version 9.0\n.target sm_90\n.address_size 64\n";

static const char kernel[] =
    ".visible .entry k(.param .u64 px)\n{\n.reg .b32 %r<20>; .reg .b64 %d<10>; .reg .b16 %h<4>; .reg .f32 %f<4>; "
    ".reg .pred %p<4>;\nld.param.u64 %d0, [px]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 8; add.s64 %d0, %d0, %d1;\n"
    "ld.global.u64 %d2, [%d0]; cvt.u32.u64 %r1, %d2; mov.b64 %d3, 0; mov.u32 %r9, 0;\n";

// What the statements leave in %d3 for each of 32 threads; %r0 is the thread, %d2 and %r1 what x holds.
static void run(const char *functions, const char *statements, const uint64_t x[32], uint64_t out[32])
{
    struct cpu c;
    cpu_open(&c, "full");
    size_t size = strlen(functions) + strlen(statements) + sizeof kernel + sizeof head + 100;
    char *text = kb_alloc(size);
    snprintf(text, size, "%s%s\n%s%s\nst.global.u64 [%%d0], %%d3;\nret;\n}\n", head, functions, kernel, statements);
    cpu_load(&c, text);
    uint64_t *values = cpu_buffer(&c, "x", KB_I64, 32, x), at = cpu_address(&c, 0);
    cpu_run(&c, "k", 1, 32, 0, &at, NULL);
    memcpy(out, values, 32 * sizeof *out);
    assert_null(cpu_report(&c, "uninitialised", NULL));
    free(text);
    cpu_close(&c);
}

static void fill(uint64_t x[32])
{
    for (uint64_t i = 0; i < 32; i++)
        x[i] = (i * 0x9e3779b97f4a7c15ull) ^ (i << 60);
}

static void test_registers(void **state)
{
    (void)state;
    uint64_t x[32], out[32];
    fill(x);
    // Two results, an early return, parameters of all sizes, one written inside, a literal, a result that is also an
    // argument.
    run(".func (.reg .b32 a, .reg .b64 b) f(.reg .b32 n, .reg .b64 v, .reg .b16 h, .reg .b8 q, .reg .f32 s)\n{\n.reg "
        ".pred %p; .reg .b32 %t<3>;\nmov.u32 a, n; mov.b64 b, v; setp.lt.u32 %p, n, 5; @%p ret;\nadd.u32 n, n, 1; "
        "cvt.u32.u16 %t0, h; cvt.u32.u8 %t1, q; mov.b32 %t2, s; add.u32 a, n, %t0; add.u32 a, a, %t1; not.b64 b, v; "
        "shr.u32 %t2, %t2, 23; add.u32 a, a, %t2;\n}\n",
        "cvt.u16.u32 %h0, %r1; mov.f32 %f0, 0f40000000; call (%r2, %d2), f, (%r0, %d2, %h0, 200, 1.0); cvt.u64.u32 "
        "%d4, %r2; add.s64 %d3, %d2, %d4;",
        x, out);
    for (uint32_t i = 0; i < 32; i++) {
        uint64_t want = i < 5 ? x[i] + i : ~x[i] + (uint32_t)(i + 1 + (x[i] & 0xffff) + 200 + 127);
        assert_int_equal(out[i], want);
    }
}

static void test_recursion_and_guards(void **state)
{
    (void)state;
    uint64_t x[32], out[32];
    fill(x);
    run(".func (.reg .b32 out) f(.reg .b32 n)\n{\n.reg .b32 %t<2>; .reg .pred %p;\n"
        "again: mov.u32 out, 1; setp.eq.u32 %p, n, 0; @%p ret;\nsub.u32 %t0, n, 1; call (%t1), f, (%t0); "
        "mad.lo.u32 out, %t1, 3, n; setp.eq.u32 %p, n, 1000; @%p bra again; ret;\n}\n",
        "and.b32 %r2, %r0, 7; setp.ne.u32 %p0, %r0, 9; mov.u32 %r3, 77; @%p0 call (%r3), f, (%r2); cvt.u64.u32 %d3, "
        "%r3;",
        x, out);
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t want = 1;
        for (uint32_t n = 1; n <= i % 8; n++)
            want = want * 3 + n;
        assert_int_equal(out[i], i == 9 ? 77 : want);
    }
}

static void test_mixed_with_variables(void **state)
{
    (void)state;
    uint64_t x[32], out[32];
    fill(x);
    // By pointer, and with variables on one side and registers on the other.
    run(".func (.reg .b64 out) f(.reg .b64 v)\n{\nadd.s64 out, v, 7;\n}\n"
        ".func (.param .b64 out) g(.param .b64 v)\n{\n.reg .b64 %t; ld.param.u64 %t, [v]; not.b64 %t, %t; "
        "st.param.b64 [out], %t; ret;\n}\n.global .align 8 .u64 ways[2] = {f, g};\n",
        "and.b32 %r2, %r0, 1; mul.wide.u32 %d4, %r2, 8; mov.u64 %d5, ways; add.s64 %d5, %d5, %d4; ld.global.u64 %d6, "
        "[%d5]; proto: .callprototype (.reg .b64 _) _ (.reg .b64 _); call (%d7), %d6, (%d2), proto;\n"
        "{ .param .b64 a; .param .b64 b; st.param.b64 [a], %d7; call (b), f, (a); ld.param.b64 %d8, [b]; }\n"
        "call (%d3), g, (%d8);",
        x, out);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(out[i], ~((i % 2 ? ~x[i] : x[i] + 7) + 7));
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *word;
    } rows[] = {
        {".func f(.reg .pred p)\n{\nret;\n}\n", "predicates as parameters"},
        {".entry k(.reg .b32 p)\n{\nret;\n}\n", "expected"},
        {".func f(.reg .b128 p)\n{\nret;\n}\n", "16 bytes, 1 to 8"},
        {".func f(.reg .b32 p)\n{\nret;\n}\n.entry k()\n{\n.reg .b64 %d;\nmov.b64 %d, 0; call f, (%d);\nret;\n}\n",
         "the type that the function declares"},
    };
    for (size_t i = 0; i < KB_COUNT(rows); i++) {
        struct cpu c;
        cpu_open(&c, NULL);
        char text[600];
        snprintf(text, sizeof text, "%s%s", head, rows[i].text);
        int failed = c.device->ops->load(c.device, text, strlen(text), &c.module, &c.error);
        if (!failed)
            failed = cpu_try(&c, "k", 1, 1, 0, NULL);
        assert_int_equal(failed, -1);
        if (!strstr(kb_error_line(&c.error), rows[i].word))
            fail_msg("'%s' does not hold '%s'", kb_error_line(&c.error), rows[i].word);
        cpu_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_registers), cmocka_unit_test(test_recursion_and_guards),
                                       cmocka_unit_test(test_mixed_with_variables), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
