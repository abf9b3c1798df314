// Snippets of matrix operations. Integers, and floats that are small integers, have one right result. For others the
// GPU keeps fewer bits of its sums than the CPU device: allowed is what dropping bits behind the largest term can cost,
// with entries within 1, k terms and the accumulator.
#include "both/both.h"

#include <stdio.h>

// Registers from number `at` on: "%r4, %r5".
static int list(char *to, size_t size, char kind, int at, int count)
{
    int n = 0;
    for (int i = 0; i < count; i++)
        n += snprintf(to + n, size - (size_t)n, "%s%%%c%d", i ? ", " : "", kind, at + i);
    return at + count;
}

// kinds: of values for a, b, c; registers of each
static void mma(struct both_table *t, const char *form, const char *kinds, int a, int b, int c, char result_kind,
                enum both_how how, double bound)
{
    char ra[200], rb[200], rc[200], rd[200], in[BOTH_SLOTS + 1] = "", out[BOTH_RESULTS + 1] = "", text[1000];
    char ab = kinds[0] == 'D' || kinds[0] == 'Z' ? 'g' : 'r', cc = result_kind == 'K' ? 'r' : result_kind;
    int at = list(ra, sizeof ra, ab, 0, a);
    at = list(rb, sizeof rb, ab, at, b);
    list(rc, sizeof rc, cc, at, c);
    list(rd, sizeof rd, cc, 20, c);
    for (int i = 0; i < a + b + c && i < BOTH_SLOTS; i++)
        in[i] = kinds[i < a ? 0 : i < a + b ? 1 : 2];
    for (int i = 0; i < c && i < BOTH_RESULTS; i++)
        out[i] = result_kind;
    snprintf(text, sizeof text, "%s, %s :: %s {%s}, {%s}, {%s}, {%s};", form,
             how == BOTH_EXACT ? "exact values" : "any values", form, rd, ra, rb, rc);
    both_add(t, how, bound, in, out, text);
}

// With small integers, then with values within 1.
static void floats(struct both_table *t, const char *form, const char *exact, const char *any, int a, int b, int c,
                   char result_kind, double bound)
{
    mma(t, form, exact, a, b, c, result_kind, BOTH_EXACT, 0);
    mma(t, form, any, a, b, c, result_kind, BOTH_ABS, bound);
}

static void floating(struct both_table *t)
{
    t->family = "mma";
    // f32 sums: 2^-23 of the largest term for each of k + 1 terms, doubled for what carries between steps.
    floats(t, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", "NNS", "UUu", 2, 1, 4, 'f', 9 * 0x1p-22);
    floats(t, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "NNS", "UUu", 4, 2, 4, 'f', 17 * 0x1p-22);
    floats(t, "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", "MMS", "VVu", 2, 1, 4, 'f', 9 * 0x1p-22);
    floats(t, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "MMS", "VVu", 4, 2, 4, 'f', 17 * 0x1p-22);
    floats(t, "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", "SSS", "ttu", 2, 1, 4, 'f', 5 * 0x1p-22);
    floats(t, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "SSS", "ttu", 4, 2, 4, 'f', 9 * 0x1p-22);
    floats(t, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "66S", "44u", 4, 2, 4, 'f', 33 * 0x1p-13);
    floats(t, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", "67S", "45u", 4, 2, 4, 'f', 33 * 0x1p-13);
    floats(t, "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32", "76S", "54u", 4, 2, 4, 'f', 33 * 0x1p-13);
    floats(t, "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32", "77S", "55u", 4, 2, 4, 'f', 33 * 0x1p-13);
    // f16 sums: one rounding of a result that may reach k + 1.
    floats(t, "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", "NNN", "UUU", 2, 1, 2, 'K', 9 * 0x1p-10);
    floats(t, "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "NNN", "UUU", 4, 2, 2, 'K', 17 * 0x1p-10);
    floats(t, "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "ZZZ", "DDD", 1, 1, 2, 'g', 5 * 0x1p-52);
    floats(t, "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64", "ZZZ", "DDD", 2, 1, 4, 'g', 5 * 0x1p-52);
    floats(t, "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64", "ZZZ", "DDD", 4, 2, 4, 'g', 9 * 0x1p-52);
    floats(t, "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", "ZZZ", "DDD", 8, 4, 4, 'g', 17 * 0x1p-52);
}

static void integers(struct both_table *t)
{
    static const struct {
        const char *form;
        int a, b, c;
    } forms[] = {
        {"mma.sync.aligned.m8n8k16.row.col<|.satfinite>.s32.<s8|u8>.<u8|s8>.s32", 1, 1, 2},
        {"mma.sync.aligned.m16n8k16.row.col<|.satfinite>.s32.<s8|u8>.<u8|s8>.s32", 2, 1, 4},
        {"mma.sync.aligned.m16n8k32.row.col<|.satfinite>.s32.<s8|u8>.<u8|s8>.s32", 4, 2, 4},
        {"mma.sync.aligned.m8n8k32.row.col<|.satfinite>.s32.<s4|u4>.<u4|s4>.s32", 1, 1, 2},
        {"mma.sync.aligned.m16n8k32.row.col.s32.<s4|u4>.<u4|s4>.s32", 2, 1, 4},
        {"mma.sync.aligned.m16n8k64.row.col.s32.<s4|u4>.<u4|s4>.s32", 4, 2, 4},
        {"mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc", 1, 1, 2},
        {"mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.<and|xor>.popc", 2, 1, 4},
        {"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.<and|xor>.popc", 4, 2, 4},
    };
    t->family = "mma of integers";
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        mma(t, forms[i].form, "yyi", forms[i].a, forms[i].b, forms[i].c, 'r', BOTH_EXACT, 0);
}

static void movers(struct both_table *t)
{
    t->family = "matrix moves";
    both_add(t, BOTH_EXACT, 0, "y", "r", "movmatrix.sync.aligned.m8n8.trans.b16 %r20, %r0;");
    // Rows of 16 bytes, four a thread of the warp, in an order of their own.
    static const char fill[] =
        "mov.u32 %r30, sm; and.b32 %r31, %r50, 96; shl.b32 %r31, %r31, 4; add.u32 %r30, %r30, %r31; shl.b32 %r32, "
        "%r52, 4; add.u32 %r32, %r32, %r30; st.shared.v4.u32 [%r32], {%r0, %r1, %r2, %r3}; bar.warp.sync -1; "
        "mul.lo.u32 %r33, %r52, 5; and.b32 %r33, %r33, 31; shl.b32 %r33, %r33, 4; add.u32 %r33, %r33, %r30;";
    char text[1200];
    snprintf(text, sizeof text,
             "ldmatrix.x4<|.trans> :: %s ldmatrix.sync.aligned.m8n8.x4<|.trans>.shared.b16 {%%r20, %%r21, %%r22, "
             "%%r23}, [%%r33];",
             fill);
    both_add(t, BOTH_EXACT, 0, "yyyy", "rrrr", text);
    snprintf(text, sizeof text,
             "ldmatrix.x2<|.trans> :: %s ldmatrix.sync.aligned.m8n8.x2<|.trans>.shared.b16 {%%r20, %%r21}, [%%r33];",
             fill);
    both_add(t, BOTH_EXACT, 0, "yyyy", "rr", text);
    snprintf(text, sizeof text,
             "ldmatrix.x1<|.trans> :: %s ldmatrix.sync.aligned.m8n8.x1<|.trans>.shared.b16 {%%r20}, [%%r33];", fill);
    both_add(t, BOTH_EXACT, 0, "yyyy", "r", text);
    snprintf(text, sizeof text,
             "stmatrix.x4<|.trans> :: %s bar.warp.sync -1; stmatrix.sync.aligned.m8n8.x4<|.trans>.shared.b16 [%%r33], "
             "{%%r0, %%r1, %%r2, %%r3}; bar.warp.sync -1; ld.shared.v4.u32 {%%r20, %%r21, %%r22, %%r23}, [%%r32];",
             fill);
    both_add(t, BOTH_EXACT, 0, "yyyy", "rrrr", text);
    snprintf(text, sizeof text,
             "stmatrix.x2<|.trans> :: %s bar.warp.sync -1; stmatrix.sync.aligned.m8n8.x2<|.trans>.shared.b16 [%%r33], "
             "{%%r1, %%r2}; bar.warp.sync -1; ld.shared.v4.u32 {%%r20, %%r21, %%r22, %%r23}, [%%r32];",
             fill);
    both_add(t, BOTH_EXACT, 0, "yyyy", "rrrr", text);
    snprintf(text, sizeof text,
             "stmatrix.x1 :: %s bar.warp.sync -1; stmatrix.sync.aligned.m8n8.x1.shared.b16 [%%r33], {%%r1}; "
             "bar.warp.sync -1; ld.shared.v4.u32 {%%r20, %%r21, %%r22, %%r23}, [%%r32];",
             fill);
    both_add(t, BOTH_EXACT, 0, "yyyy", "rrrr", text);
}

// Fragments have no layout that the manual tells, so that only what is stored counts: 16 x 16 f16 from shared memory,
// the sum to the scratch memory of the block by its first warp.
static void wmma(struct both_table *t)
{
    t->family = "wmma";
    static const char text[] =
        "wmma.m16n16k16.<row|col>.<col|row>.f32, exact values :: mov.u32 %r30, sm; shl.b32 %r31, %r50, 2; add.u32 "
        "%r31, "
        "%r31, %r30; st.shared.u32 [%r31], %r0; st.shared.u32 [%r31+512], %r1; shl.b32 %r32, %r50, 3; "
        "add.u32 %r32, %r32, %r30; st.shared.v2.u32 [%r32+1024], {%r2, %r3}; bar.sync 0; setp.ge.u32 %p30, "
        "%r50, 32; @%p30 bra $end; mov.u64 %d30, sm; cvta.shared.u64 %d30, %d30; "
        "wmma.load.a.sync.aligned.<row|col>.m16n16k16.shared.f16 {%r10, %r11, %r12, %r13, %r14, %r15, %r16, "
        "%r17}, [%r30], 16; add.u32 %r33, %r30, 512; "
        "wmma.load.b.sync.aligned.<col|row>.m16n16k16.shared.f16 {%r34, %r35, %r36, %r37, %r38, %r39, %r40, "
        "%r41}, [%r33], 16; add.s64 %d31, %d30, 1024; "
        "wmma.load.c.sync.aligned.row.m16n16k16.f32 {%f10, %f11, %f12, %f13, %f14, %f15, %f16, %f17}, "
        "[%d31], 16; wmma.mma.sync.aligned.<row|col>.<col|row>.m16n16k16.f32.f32 {%f20, %f21, %f22, %f23, %f24, %f25, "
        "%f26, %f27}, {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}, {%r34, %r35, %r36, %r37, "
        "%r38, %r39, %r40, %r41}, {%f10, %f11, %f12, %f13, %f14, %f15, %f16, %f17}; "
        "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%d50], {%f20, %f21, %f22, %f23, %f24, %f25, "
        "%f26, %f27}, 16; $end: bar.warp.sync -1;";
    both_add(t, BOTH_EXACT, 0, "NNSS", "", text);
}

void both_matrices(struct both_table *t)
{
    floating(t);
    integers(t);
    movers(t);
    wmma(t);
}
