// Snippets of atomics and reductions. Each thread on a place of its own gives what it found and what is left there, for
// all values; many threads on one place use operations whose order does not matter.
#include "both/both.h"

#include <stdio.h>
#include <string.h>

static const struct place {
    const char *name, *set_up, *suffix, *at;
} places[] = {
    {"global", "mul.wide.u32 %d30, %r50, 16; add.s64 %d30, %d30, %d50;", ".global", "%d30"},
    {"shared", "mov.u32 %r30, sm; shl.b32 %r31, %r50, 4; add.u32 %r30, %r30, %r31;", ".shared", "%r30"},
    {"generic", "mul.wide.u32 %d30, %r50, 16; add.s64 %d30, %d30, %d50;", "", "%d30"},
};

static void own(struct both_table *t, const struct both_type *y, const char *operation)
{
    const char *bits = y->reg == 'd' || y->reg == 'g' ? "b64" : y->reg == 'h' ? "b16" : "b32";
    bool cas = !strncmp(operation, "cas", 3);
    for (int i = 0; i < 3; i++) {
        char text[800];
        const struct place *p = &places[i];
        // ptxas 13.0 takes the upper half of a pair that is the low half of a loaded 64-bit value from the bits behind
        // it, in the loop that it makes of this on shared memory; so the pair is loaded by itself.
        bool pair = strchr("KW", y->out) && i == 1;
        snprintf(text, sizeof text,
                 "atom%s.%s.%s, own place :: %s %s st%s.%s [%s], %%%c0; atom%s.%s.%s %%%c20, [%s], %%%c1%s; "
                 "ld%s.%s %%%c21, [%s];",
                 p->suffix, operation, y->name, p->set_up, pair ? "ld.volatile.global.u32 %r1, [%d62];" : "", p->suffix,
                 bits, p->at, y->reg, p->suffix, operation, y->name, y->reg, p->at, y->reg,
                 cas ? y->reg == 'd' ? ", 7" : ", 9" : "", p->suffix, bits, y->reg, p->at);
        bool natural = y->out == 'g';
        both_add(t, natural ? BOTH_NAN : BOTH_EXACT, 0, (char[]){y->in, y->in, 0}, (char[]){y->out, y->out, 0}, text);
    }
}

static void own_places(struct both_table *t)
{
    static const struct both_type u32 = {"u32", 'i', 'r', 'r'}, s32 = {"s32", 'i', 'r', 'r'},
                                  b32 = {"b32", 'i', 'r', 'r'}, u64 = {"u64", 'l', 'd', 'd'},
                                  s64 = {"s64", 'l', 'd', 'd'}, b64 = {"b64", 'l', 'd', 'd'},
                                  f32 = {"f32", 'f', 'f', 'f'}, f64 = {"f64", 'g', 'g', 'g'},
                                  f16 = {"f16", 'k', 'k', 'h'}, f16x2 = {"f16x2", 'K', 'K', 'r'},
                                  bf16 = {"bf16", 'w', 'w', 'h'}, bf16x2 = {"bf16x2", 'W', 'W', 'r'},
                                  b16 = {"b16", 's', 'h', 'h'};
    t->family = "atomic";
    static const char *const numbers[] = {"add", "min", "max"}, *const words[] = {"and", "or", "xor", "exch", "cas"};
    for (int i = 0; i < 3; i++) {
        own(t, &u32, numbers[i]);
        own(t, &s32, numbers[i]);
        own(t, &u64, numbers[i]);
        if (i)
            own(t, &s64, numbers[i]);
    }
    for (int i = 0; i < 5; i++) {
        own(t, &b32, words[i]);
        own(t, &b64, words[i]);
    }
    own(t, &u32, "<inc|dec>");
    own(t, &f32, "add");
    own(t, &f64, "add");
    own(t, &f16, "add.noftz");
    own(t, &f16x2, "add.noftz");
    own(t, &bf16, "add.noftz");
    own(t, &bf16x2, "add.noftz");
    own(t, &b16, "cas");
}

static void one_place(struct both_table *t)
{
    t->family = "reduction";
    both_add(t, BOTH_EXACT, 0, "y", "",
             "red.global.<add.u32|add.s32|min.u32|max.u32|min.s32|max.s32|and.b32|or.b32|xor.b32>, eight places :: "
             "and.b32 %r30, %r0, 7; mul.wide.u32 %d30, %r30, 4; add.s64 %d30, %d30, %d50; shr.u32 %r31, %r0, 3; "
             "red.global.<add.u32|add.s32|min.u32|max.u32|min.s32|max.s32|and.b32|or.b32|xor.b32> [%d30], %r31;");
    both_add(t, BOTH_EXACT, 0, "y", "",
             "red.global.<add.u64|min.u64|max.u64|min.s64|max.s64|and.b64|or.b64|xor.b64>, eight places :: "
             "and.b32 %r30, %r0, 7; mul.wide.u32 %d30, %r30, 8; add.s64 %d30, %d30, %d50; not.b64 %d31, %d0; "
             "red.global.<add.u64|min.u64|max.u64|min.s64|max.s64|and.b64|or.b64|xor.b64> [%d30], %d31;");
    both_add(t, BOTH_EXACT, 0, "y", "",
             "red.global.<inc|dec>.u32, one bound :: and.b32 %r30, %r0, 7; mul.wide.u32 %d30, %r30, 4; add.s64 %d30, "
             "%d30, %d50; red.global.<inc|dec>.u32 [%d30], 5;");
    both_add(t, BOTH_EXACT, 0, "ff", "f",
             "red<.global|>.add.f32, own place :: mul.wide.u32 %d30, %r50, 16; add.s64 %d30, %d30, %d50; "
             "st<.global|>.f32 [%d30], %f0; red<.global|>.add.f32 [%d30], %f1; ld<.global|>.f32 %f20, [%d30];");
    both_add(t, BOTH_EXACT, 0, "ff", "ff",
             "atom.add.f32 on shared memory by a generic address :: mov.u64 %d30, sm; cvta.shared.u64 %d30, %d30; "
             "mul.wide.u32 %d31, %r50, 16; add.s64 %d30, %d30, %d31; st.f32 [%d30], %f0; atom.add.f32 %f20, [%d30], "
             "%f1; ld.f32 %f21, [%d30];");
    both_add(t, BOTH_EXACT, 0, "Sy", "",
             "red.global.add.f32, small integers :: and.b32 %r30, %r1, 7; mul.wide.u32 %d30, %r30, 4; add.s64 %d30, "
             "%d30, %d50; red.global.add.f32 [%d30], %f0;");
    both_add(t, BOTH_EXACT, 0, "Zy", "",
             "red.global.add.f64, small integers :: and.b32 %r30, %r1, 7; mul.wide.u32 %d30, %r30, 8; add.s64 %d30, "
             "%d30, %d50; red.global.add.f64 [%d30], %g0;");
    both_add(t, BOTH_EXACT, 0, "Ny", "",
             "red.global.add.noftz.f16x2, small integers :: and.b32 %r30, %r1, 7; mul.wide.u32 %d30, %r30, 4; add.s64 "
             "%d30, %d30, %d50; red.global.add.noftz.f16x2 [%d30], %r0;");
    both_add(t, BOTH_EXACT, 0, "SSSS", "",
             "red.global.v4.f32.add, small integers :: and.b32 %r30, %r51, 3; mul.wide.u32 %d30, %r30, 16; add.s64 "
             "%d30, %d30, %d50; red.global.v4.f32.add [%d30], {%f0, %f1, %f2, %f3};");
    both_add(t, BOTH_EXACT, 0, "y", "r",
             "red.shared.<add.u32|min.s32|max.u32|and.b32|or.b32|xor.b32>, eight places :: mov.u32 %r30, sm; "
             "and.b32 %r31, %r50, 7; shl.b32 %r31, %r31, 2; add.u32 %r31, %r31, %r30; st.shared.u32 [%r31], 1000; "
             "bar.sync 0; and.b32 %r32, %r0, 7; shl.b32 %r32, %r32, 2; add.u32 %r32, %r32, %r30; shr.u32 %r33, %r0, 3; "
             "red.shared.<add.u32|min.s32|max.u32|and.b32|or.b32|xor.b32> [%r32], %r33; bar.sync "
             "0; ld.shared.u32 %r20, [%r31];");
    both_add(t, BOTH_EXACT, 0, "Sy", "f",
             "red.shared.add.f32, small integers :: mov.u32 %r30, sm; and.b32 %r31, %r50, 7; shl.b32 %r31, %r31, 2; "
             "add.u32 %r31, %r31, %r30; st.shared.u32 [%r31], 0; bar.sync 0; and.b32 %r32, %r1, 7; shl.b32 %r32, %r32, "
             "2; add.u32 %r32, %r32, %r30; red.shared.add.f32 [%r32], %f0; bar.sync 0; ld.shared.f32 %f20, [%r31];");
    both_add(t, BOTH_EXACT, 0, "y", "",
             "a lock :: mov.u32 %r33, 0; $try: atom.global.acquire.gpu.cas.b32 %r31, [%d50+64], 0, 1; setp.ne.u32 "
             "%p30, %r31, 0; @%p30 bra $next; ld.volatile.global.u32 %r32, [%d50+68]; add.u32 %r32, %r32, %r0; "
             "st.volatile.global.u32 [%d50+68], %r32; membar.gl; atom.global.release.gpu.exch.b32 %r31, [%d50+64], 0; "
             "mov.u32 %r33, 1; $next: setp.eq.u32 %p30, %r33, 0; @%p30 bra $try;");
}

void both_atomics(struct both_table *t)
{
    own_places(t);
    one_place(t);
}
