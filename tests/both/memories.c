// Snippets of loads and stores, variables, calls and special registers.
#include "both/both.h"

#include "base/memory.h"

#include <stdio.h>

// In each space: %d30 (or %r30) is where this thread has 64 bytes; the instruction's suffix; the address.
static const struct space {
    const char *name, *set_up, *suffix, *at;
} spaces[] = {
    {"global", "mul.wide.u32 %d30, %r50, 64; add.s64 %d30, %d30, %d50;", ".global", "%d30"},
    {"shared", "mov.u32 %r30, sm; shl.b32 %r31, %r50, 6; add.u32 %r30, %r30, %r31;", ".shared", "%r30"},
    {"local", "mov.u32 %r30, lo; add.u32 %r30, %r30, 32;", ".local", "%r30"},
    {"generic, global", "mul.wide.u32 %d30, %r50, 64; add.s64 %d30, %d30, %d50;", "", "%d30"},
    {"generic, shared",
     "mov.u64 %d30, sm; cvta.shared.u64 %d30, %d30; mul.wide.u32 %d31, %r50, 64; add.s64 %d30, %d30, %d31;", "",
     "%d30"},
    {"generic, local", "mov.u64 %d30, lo; cvta.local.u64 %d30, %d30; add.s64 %d30, %d30, 32;", "", "%d30"},
    {"volatile global", "mul.wide.u32 %d30, %r50, 64; add.s64 %d30, %d30, %d50;", ".volatile.global", "%d30"},
    {"relaxed.gpu.global", "mul.wide.u32 %d30, %r50, 64; add.s64 %d30, %d30, %d50;", ".relaxed.gpu.global", "%d30"},
};

// text: %1$s the suffix of the instructions, %2$s the address
static void in_spaces(struct both_table *t, int count, const char *in, const char *out, const char *name,
                      const char *text)
{
    for (int i = 0; i < count; i++) {
        char work[900], all[1200];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(work, sizeof work, text, spaces[i].suffix, spaces[i].at);
#pragma GCC diagnostic pop
        snprintf(all, sizeof all, "%s, %s :: %s %s", spaces[i].name, name, spaces[i].set_up, work);
        both_add(t, BOTH_EXACT, 0, in, out, all);
    }
}

static void widths(struct both_table *t)
{
    t->family = "memory";
    in_spaces(t, 8, "l", "rrrrrrdd", "parts of 64 bits",
              "st%1$s.u64 [%2$s], %%d0; ld%1$s.u8 %%r20, [%2$s+3]; ld%1$s.s8 %%r21, [%2$s+7]; "
              "ld%1$s.u16 %%r22, [%2$s+2]; ld%1$s.s16 %%r23, [%2$s+6]; ld%1$s.u32 %%r24, [%2$s]; "
              "ld%1$s.s32 %%r25, [%2$s+4]; ld%1$s.s32 %%d26, [%2$s+4]; ld%1$s.b64 %%d27, [%2$s];");
    in_spaces(t, 8, "il", "ddh", "narrow stores",
              "st%1$s.u64 [%2$s], %%d1; st%1$s.u8 [%2$s+1], %%r0; st%1$s.u16 [%2$s+4], %%h0; ld%1$s.u64 %%d20, [%2$s]; "
              "st%1$s.u32 [%2$s+4], %%r0; ld%1$s.u64 %%d21, [%2$s]; ld%1$s.s8 %%h22, [%2$s+1];");
    in_spaces(t, 6, "ii", "rrrrrr", "vectors of 32 bits",
              "st%1$s.v4.u32 [%2$s], {%%r0, %%r1, %%r51, %%r0}; ld%1$s.v2.u32 {%%r20, %%r21}, [%2$s+8]; "
              "ld%1$s.v4.u32 {%%r22, %%r23, %%r24, %%r25}, [%2$s];");
    in_spaces(t, 6, "ll", "ddrrrr", "vectors of 64 and 8 bits",
              "st%1$s.v2.u64 [%2$s+16], {%%d0, %%d1}; ld%1$s.v2.f64 {%%g30, %%g31}, [%2$s+16]; "
              "mov.b64 %%d20, %%g31; mov.b64 %%d21, %%g30; ld%1$s.v4.s8 {%%r22, %%r23, %%r24, %%r25}, [%2$s+20];");
    in_spaces(t, 6, "l", "rrd", "vectors of 16 bits",
              "st%1$s.b64 [%2$s], %%d0; ld%1$s.v4.u16 {%%h30, %%h31, %%h32, %%h33}, [%2$s]; mov.b32 %%r20, {%%h33, "
              "%%h30}; mov.b32 %%r21, {%%h31, %%h32}; st%1$s.v2.b16 [%2$s+8], {%%h32, %%h33}; "
              "st%1$s.v2.b16 [%2$s+12], {%%h30, %%h31}; ld%1$s.b64 %%d22, [%2$s+8];");
    both_add(t, BOTH_EXACT, 0, "l", "dd",
             "cp.async of <4|8|16> bytes :: mul.wide.u32 %d30, %r50, 64; add.s64 %d30, %d30, %d50; "
             "st.global.v2.u64 [%d30], {%d0, %d0}; mov.u32 %r30, sm; shl.b32 %r31, %r50, 4; add.u32 %r30, %r30, %r31; "
             "st.shared.v2.u64 [%r30], {%d50, %d50}; st.shared.u64 [%r30], 0; st.shared.u64 [%r30+8], 7; "
             "cp.async.ca.shared.global [%r30], [%d30], <4|8|16>; cp.async.commit_group; cp.async.wait_group 0; "
             "ld.shared.v2.u64 {%d20, %d21}, [%r30];");
    both_add(t, BOTH_EXACT, 0, "l", "dd",
             "cp.async with fewer source bytes :: mul.wide.u32 %d30, %r50, 64; add.s64 %d30, %d30, %d50; "
             "st.global.v2.u64 [%d30], {%d0, %d0}; mov.u32 %r30, sm; shl.b32 %r31, %r50, 4; add.u32 %r30, %r30, %r31; "
             "and.b32 %r32, %r50, 15; cp.async.cg.shared.global [%r30], [%d30], 16, %r32; cp.async.wait_all; "
             "ld.shared.v2.u64 {%d20, %d21}, [%r30];");
    both_add(t, BOTH_EXACT, 0, "l", "pppp",
             "isspacep :: mov.u64 %d30, sm; cvta.shared.u64 %d30, %d30; mov.u64 %d31, lo; cvta.local.u64 %d31, %d31; "
             "selp.u64 %d32, %d30, %d50, %p0; isspacep.shared %p20, %d32; isspacep.global %p21, %d32; "
             "isspacep.local %p22, %d31; isspacep.shared %p23, %d31; st.local.u32 [lo], %r0; st.shared.u32 [sm], 1;");
}

static void variables(struct both_table *t)
{
    t->family = "variables and calls";
    t->preamble = ".const .align 4 .u32 table_~[8] = {3, 1, 4, 1, 5, 9, 2, 6};\n"
                  ".global .align 8 .b8 bytes_~[16] = {1, 2, 3, 250, 251, 252, 7, 128};\n"
                  ".global .align 8 .u64 place_~ = generic(bytes_~);\n.global .f32 half_~ = 0f3F000000;\n";
    both_add(t, BOTH_EXACT, 0, "i", "rrr",
             "initialised variables :: and.b32 %r30, %r0, 7; mul.wide.u32 %d30, %r30, 4; mov.u64 %d31, table_~; "
             "add.s64 %d31, %d31, %d30; ld.const.u32 %r20, [%d31]; ld.global.u64 %d32, [place_~]; cvt.u64.u32 %d33, "
             "%r30; add.s64 %d32, %d32, %d33; ld.s8 %r21, [%d32]; ld.global.f32 %f30, [half_~]; mov.b32 %r22, %f30;");
    t->preamble = ".func (.param .b32 out) down_~(.param .b32 n, .param .b32 x)\n{\n.reg .b32 %t<6>; .reg .pred %q;\n"
                  "ld.param.u32 %t0, [n]; ld.param.u32 %t1, [x]; setp.eq.u32 %q, %t0, 0; mov.u32 %t2, %t1; @%q bra "
                  "$out;\nsub.u32 %t3, %t0, 1; mad.lo.u32 %t4, %t1, 3, %t0;\n{\n.param .b32 a; .param .b32 b; .param "
                  ".b32 c;\nst.param.b32 [a], %t3; st.param.b32 [b], %t4; call (c), down_~, (a, b); ld.param.b32 %t2, "
                  "[c];\n}\nxor.b32 %t2, %t2, %t0;\n$out: st.param.b32 [out], %t2; ret;\n}\n";
    both_add(t, BOTH_EXACT, 0, "yi", "r",
             "recursion of a depth of its own :: and.b32 %r30, %r0, 7; { .param .b32 a; .param .b32 b; .param .b32 c; "
             "st.param.b32 [a], %r30; st.param.b32 [b], %r1; call (c), down_~, (a, b); ld.param.b32 %r20, [c]; }");
    t->preamble = ".func (.param .b32 out) plus_~(.param .b32 x)\n{\n.reg .b32 %t;\nld.param.b32 %t, [x]; add.u32 %t, "
                  "%t, 7; st.param.b32 [out], %t; ret;\n}\n.func (.param .b32 out) flip_~(.param .b32 x)\n{\n.reg .b32 "
                  "%t;\nld.param.b32 %t, [x]; not.b32 %t, %t; st.param.b32 [out], %t; ret;\n}\n"
                  ".global .align 8 .u64 ways_~[2] = {plus_~, flip_~};\n";
    both_add(t, BOTH_EXACT, 0, "yi", "r",
             "a call by pointer :: and.b32 %r30, %r0, 1; mul.wide.u32 %d30, %r30, 8; mov.u64 %d31, ways_~; add.s64 "
             "%d31, %d31, %d30; ld.global.u64 %d32, [%d31]; { .param .b32 a; .param .b32 c; st.param.b32 [a], %r1; "
             "prototype_~: .callprototype (.param .b32 _) _ (.param .b32 _); call (c), %d32, (a), prototype_~; "
             "ld.param.b32 %r20, [c]; }");
    t->preamble = ".func (.reg .b64 out) mix_~(.reg .b32 x, .reg .b64 y, .reg .b16 z)\n{\n.reg .b32 %t<3>; .reg .pred "
                  "%q;\ncvt.u32.u16 %t0, z; cvt.u32.u64 %t1, y; add.u32 %t2, x, %t0; cvt.u64.u32 out, "
                  "%t2; setp.lt.u32 %q, x, %t1; @%q ret; xor.b64 out, out, y;\n}\n";
    both_add(t, BOTH_EXACT, 0, "ils", "d", "parameters in .reg :: call (%d20), mix_~, (%r0, %d1, %h2);");
    both_add(t, BOTH_EXACT, 0, "il", "d", "parameters in .reg, a literal :: call (%d20), mix_~, (%r0, %d1, 77);");
    t->preamble = ".func (.reg .b32 out) down_~(.reg .b32 n, .reg .f32 x)\n{\n.reg .b32 %t; .reg .f32 %u; .reg .pred "
                  "%q;\nmov.b32 out, x; setp.eq.u32 %q, n, 0; @%q bra $out;\nsub.u32 %t, n, 1; add.f32 %u, x, "
                  "0f3F800000; call (out), down_~, (%t, %u); xor.b32 out, out, n;\n$out: ret;\n}\n";
    both_add(t, BOTH_EXACT, 0, "yx", "r",
             "recursion with parameters in .reg :: and.b32 %r30, %r0, 7; call (%r20), down_~, (%r30, %f1);");
    t->preamble = NULL;
}

static void moves(struct both_table *t)
{
    t->family = "move";
    both_add(t, BOTH_EXACT, 0, "l", "rrd", "mov.b64 {a, b} :: mov.b64 {%r20, %r21}, %d0; mov.b64 %d22, {%r21, %r20};");
    both_add(t, BOTH_EXACT, 0, "i", "hhr", "mov.b32 {a, b} :: mov.b32 {%h20, %h21}, %r0; mov.b32 %r22, {%h21, %h20};");
    both_add(t, BOTH_EXACT, 0, "l", "hd",
             "mov.b64 {a, b, c, d} :: mov.b64 {%h30, %h20, %h31, %h32}, %d0; mov.b64 %d21, {%h32, %h31, %h20, %h30};");
    both_add(t, BOTH_EXACT, 0, "", "r",
             "mov.u32 %r20, <%tid.x|%tid.y|%ntid.x|%ntid.z|%ctaid.x|%nctaid.x|%nctaid.y|%laneid|%lanemask_eq|"
             "%lanemask_le|%lanemask_lt|%lanemask_ge|%lanemask_gt>;");
    both_add(t, BOTH_EXACT, 0, "i", "r", "mov.b32 %r20, <0x7fffffff|-5|0xffffffff>;");
    both_add(t, BOTH_EXACT, 0, "i", "f", "mov.f32 %f20, <0f3F800001|1.5|0f7FC00001>;");
    both_add(t, BOTH_EXACT, 0, "i", "g", "mov.f64 %g20, <0d3FF0000000000001|0.1|-1e300>;");
}

void both_memories(struct both_table *t)
{
    widths(t);
    variables(t);
    moves(t);
}
