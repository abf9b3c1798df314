// What a kernel does through its parameters, read from PTX.
#include "base/memory.h"
#include "jit/pointers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD ".version 9.0\n.target sm_90\n.address_size 64\n"
#define PARAMS                                                                                                         \
    ".visible .entry k(.param .u64 k_0, .param .u64 k_1, .param .u32 k_2)\n{\n.reg .pred %p<4>;\n.reg .b16 %h<8>;\n"   \
    ".reg .f32 %f<8>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<16>;\n.local .align 8 .b8 box[16];\n"                           \
    ".shared .align 16 .b8 tile[64];\nld.param.u64 %rd1, [k_0];\nld.param.u64 %rd2, [k_1];\nld.param.u32 %r1, "        \
    "[k_2];\n"

static void read_uses(const char *body, struct kb_param_use uses[3])
{
    char *text = kb_format("%s%s\nret;\n}\n", HEAD ".extern .func far(.param .b64 a);\n" PARAMS, body);
    struct kb_pointers *p = kb_pointers_read(text, strlen(text));
    assert_non_null(p);
    assert_int_equal(kb_pointers_of(p, "k", uses, 3), 3);
    kb_pointers_free(p);
    free(text);
}

// "ls" for loads and stores, "a" for atomics, "?" where the pointer was lost.
static const char *letters(const struct kb_param_use *u)
{
    static char text[8];
    snprintf(text, sizeof text, "%s%s%s%s", u->known ? "" : "?", u->loads ? "l" : "", u->stores ? "s" : "",
             u->atomics ? "a" : "");
    return text;
}

static void ways_of_a_pointer(void **state)
{
    (void)state;
    static const struct {
        const char *body, *first, *second, *type;
    } cases[] = {
        {"cvta.to.global.u64 %rd3, %rd1;\nmul.wide.s32 %rd4, %r1, 4;\nadd.s64 %rd5, %rd3, %rd4;\n"
         "ld.global.nc.f32 %f1, [%rd5+8];\nst.global.f32 [%rd2], %f1;",
         "l", "s", "f32"},
        {"ld.global.v4.f32 {%f1,%f2,%f3,%f4}, [%rd1];\nst.global.f32 [%rd1], %f2;", "ls", "", "f32"},
        {"atom.global.add.u32 %r2, [%rd1], 1;\nred.global.add.f32 [%rd2], 0f3F800000;", "a", "a", "b32"},
        // Through a local copy, a choice, a loop that walks on.
        {"st.local.u64 [box], %rd1;\nld.local.u64 %rd3, [box];\nld.u16 %h1, [%rd3];", "l", "", "b16"},
        {"setp.eq.s32 %p1, %r1, 0;\nselp.b64 %rd3, %rd1, %rd2, %p1;\nst.global.f32 [%rd3], 0f00000000;", "s", "s",
         "f32"},
        {"again:\nld.global.u8 %r2, [%rd3];\nmov.u64 %rd3, %rd4;\nadd.s64 %rd4, %rd1, 1;\n@%p1 bra again;", "l", "",
         "b8"},
        // Copies to shared memory; what lies there is no access of the parameter's.
        {"cp.async.ca.shared.global [tile], [%rd1], 16;\nld.shared.f32 %f1, [tile];", "l", "", ""},
        // Handed on to code that is not here: it may do anything.
        {"{\n.param .b64 q;\nst.param.b64 [q], %rd1;\ncall.uni far, (q);\n}\nld.global.f32 %f1, [%rd2];", "?", "l", ""},
        // Bits that are taken for halves.
        {"ld.global.u16 %h1, [%rd1];\ncvt.f32.bf16 %f1, %h1;\ncvt.rn.f16.f32 %h2, %f1;\nst.global.b16 [%rd2], %h2;",
         "l", "s", "bf16"},
        {"prefetch.global.L2 [%rd1];", "", "", ""},
        {"wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r1}, [%rd1], %r1;", "l", "",
         "f16"},
    };
    for (size_t i = 0; i < KB_COUNT(cases); i++) {
        struct kb_param_use uses[3];
        read_uses(cases[i].body, uses);
        if (strcmp(letters(&uses[0]), cases[i].first))
            fail_msg("case %zu, first: %s", i, letters(&uses[0]));
        if (strcmp(letters(&uses[1]), cases[i].second))
            fail_msg("case %zu, second: %s", i, letters(&uses[1]));
        assert_string_equal(uses[0].type, cases[i].type);
        assert_int_equal(uses[2].bytes, 4);
        assert_false(uses[2].known);
    }
    struct kb_param_use uses[3];
    read_uses(cases[8].body, uses);
    assert_string_equal(uses[1].type, "f16");
    assert_int_equal(uses[1].width, 2);
    read_uses(cases[1].body, uses);
    assert_int_equal(uses[0].width, 16);
}

static void what_cannot_be_read(void **state)
{
    (void)state;
    static const char text[] = HEAD PARAMS "ret;\n}\n";
    struct kb_param_use use;
    assert_null(kb_pointers_read("no ptx {", 8));
    assert_null(kb_pointers_read(NULL, 0));
    struct kb_pointers *p = kb_pointers_read(text, strlen(text));
    assert_int_equal(kb_pointers_of(p, "other", &use, 1), 0);
    assert_int_equal(kb_pointers_of(p, "k", &use, 1), 3); // only the first is told
    kb_pointers_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ways_of_a_pointer),
        cmocka_unit_test(what_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
