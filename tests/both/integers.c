// Snippets of integer arithmetic and bits.
#include "both/both.h"

static void arithmetic(struct both_table *t)
{
    t->family = "integer";
    both_each(t, both_ints, 6, BOTH_EXACT, 0, "$$", "$", "<add|sub|mul.lo|mul.hi|min|max>.# %$20, %$0, %$1;");
    both_each(t, both_ints, 6, BOTH_EXACT, 0, "$$$", "$", "<mad.lo|mad.hi|sad>.# %$20, %$0, %$1, %$2;");
    both_each(t, both_ints, 6, BOTH_EXACT, 0, "$n", "$", "<div|rem>.# %$20, %$0, %$1;");
    both_each(t, both_ints + 1, 1, BOTH_EXACT, 0, "$", "$", "<neg|abs>.# %$20, %$0;");
    both_each(t, both_ints + 3, 1, BOTH_EXACT, 0, "$", "$", "<neg|abs>.# %$20, %$0;");
    both_each(t, both_ints + 5, 1, BOTH_EXACT, 0, "$", "$", "<neg|abs>.# %$20, %$0;");
    both_add(t, BOTH_EXACT, 0, "ss", "r", "mul.wide.<u16|s16> %r20, %h0, %h1;");
    both_add(t, BOTH_EXACT, 0, "ii", "d", "mul.wide.<u32|s32> %d20, %r0, %r1;");
    both_add(t, BOTH_EXACT, 0, "ssi", "r", "mad.wide.<u16|s16> %r20, %h0, %h1, %r2;");
    both_add(t, BOTH_EXACT, 0, "iil", "d", "mad.wide.<u32|s32> %d20, %r0, %r1, %d2;");
    both_add(t, BOTH_EXACT, 0, "ii", "r", "mul24.<lo|hi>.<u32|s32> %r20, %r0, %r1;");
    both_add(t, BOTH_EXACT, 0, "iii", "r", "mad24.<lo|hi>.<u32|s32> %r20, %r0, %r1, %r2;");
    both_add(t, BOTH_EXACT, 0, "ii", "r", "<add|sub>.sat.s32 %r20, %r0, %r1;");
    both_add(t, BOTH_EXACT, 0, "iii", "r", "<mad|mad24>.hi.sat.s32 %r20, %r0, %r1, %r2;");
    both_add(t, BOTH_EXACT, 0, "ii", "r", "<add|min|max>.<u16x2|s16x2> %r20, %r0, %r1;");
    both_add(t, BOTH_EXACT, 0, "ii", "r", "<min|max>.relu.<s16x2|s32> %r20, %r0, %r1;");
    both_add(t, BOTH_EXACT, 0, "iii", "r", "dp4a.<u32|s32>.<u32|s32> %r20, %r0, %r1, %r2;");
    both_add(t, BOTH_EXACT, 0, "iii", "r", "dp2a.<lo|hi>.<u32|s32>.<u32|s32> %r20, %r0, %r1, %r2;");
}

static void carries(struct both_table *t)
{
    t->family = "carry";
    both_add(t, BOTH_EXACT, 0, "iiii", "rrr",
             "add.cc.u32, addc.cc.u32, addc.u32 :: add.cc.u32 %r20, %r0, %r1; addc.cc.u32 %r21, %r2, %r3; "
             "addc.u32 %r22, 0, 0;");
    both_add(t, BOTH_EXACT, 0, "iiii", "rrr",
             "sub.cc.u32, subc.cc.u32, subc.u32 :: sub.cc.u32 %r20, %r0, %r1; subc.cc.u32 %r21, %r2, %r3; "
             "subc.u32 %r22, 0, 0;");
    both_add(t, BOTH_EXACT, 0, "llll", "dd",
             "<add|sub>.cc and carry, u64 :: <add|sub>.cc.u64 %d20, %d0, %d1; <add|sub>c.u64 %d21, %d2, %d3;");
    both_add(t, BOTH_EXACT, 0, "iiii", "rrr",
             "mad.lo.cc.<u32|s32>, madc.hi.cc, madc.lo :: mad.lo.cc.u32 %r20, %r0, %r1, %r2; "
             "madc.hi.cc.<u32|s32> %r21, %r0, %r1, %r3; madc.lo.u32 %r22, %r2, %r3, 0;");
    both_add(t, BOTH_EXACT, 0, "iii", "rr",
             "a carry kept over other work :: add.cc.u32 %r20, %r0, %r1; xor.b32 %r21, %r1, %r2; mul.lo.u32 %r21, "
             "%r21, %r0; addc.u32 %r21, %r21, %r2;");
}

static void bits(struct both_table *t)
{
    t->family = "bits";
    both_add(t, BOTH_EXACT, 0, "i", "r", "<popc|clz|brev|not|cnot>.b32 %r20, %r0;");
    both_add(t, BOTH_EXACT, 0, "l", "r", "<popc|clz>.b64 %r20, %d0;");
    both_add(t, BOTH_EXACT, 0, "l", "d", "<brev|not|cnot>.b64 %d20, %d0;");
    both_add(t, BOTH_EXACT, 0, "s", "h", "<not|cnot>.b16 %h20, %h0;");
    both_add(t, BOTH_EXACT, 0, "i", "r", "bfind<|.shiftamt>.<u32|s32> %r20, %r0;");
    both_add(t, BOTH_EXACT, 0, "l", "r", "bfind<|.shiftamt>.<u64|s64> %r20, %d0;");
    both_add(t, BOTH_EXACT, 0, "ii", "r", "<and|or|xor>.b32 %r20, %r0, %r1;");
    both_add(t, BOTH_EXACT, 0, "ll", "d", "<and|or|xor>.b64 %d20, %d0, %d1;");
    both_add(t, BOTH_EXACT, 0, "ss", "h", "<and|or|xor>.b16 %h20, %h0, %h1;");
    both_add(t, BOTH_EXACT, 0, "ii", "p", "<and|or|xor>.pred %p20, %p0, %p1;");
    both_add(t, BOTH_EXACT, 0, "sb", "h", "<shl.b16|shr.b16|shr.u16|shr.s16> %h20, %h0, %r1;");
    both_add(t, BOTH_EXACT, 0, "ib", "r", "<shl.b32|shr.b32|shr.u32|shr.s32> %r20, %r0, %r1;");
    both_add(t, BOTH_EXACT, 0, "lb", "d", "<shl.b64|shr.b64|shr.u64|shr.s64> %d20, %d0, %r1;");
    both_add(t, BOTH_EXACT, 0, "iib", "r", "shf.<l|r>.<clamp|wrap>.b32 %r20, %r0, %r1, %r2;");
    both_add(t, BOTH_EXACT, 0, "icc", "r", "bfe.<u32|s32> %r20, %r0, %r1, %r2;");
    both_add(t, BOTH_EXACT, 0, "lcc", "d", "bfe.<u64|s64> %d20, %d0, %r1, %r2;");
    both_add(t, BOTH_EXACT, 0, "iicc", "r", "bfi.b32 %r20, %r0, %r1, %r2, %r3;");
    both_add(t, BOTH_EXACT, 0, "llcc", "d", "bfi.b64 %d20, %d0, %d1, %r2, %r3;");
    both_add(t, BOTH_EXACT, 0, "iii", "r", "lop3.b32 %r20, %r0, %r1, %r2, <0|1|0x80|0x96|0xca|0xe8|0x1b|0xfe|255>;");
    both_add(t, BOTH_EXACT, 0, "iiy", "r", "prmt.b32<|.f4e|.b4e|.rc8|.ecl|.ecr|.rc16> %r20, %r0, %r1, %r2;");
    both_add(t, BOTH_EXACT, 0, "ib", "r", "szext.<clamp|wrap>.<u32|s32> %r20, %r0, %r1;");
    both_add(t, BOTH_EXACT, 0, "bb", "r", "bmsk.<clamp|wrap>.b32 %r20, %r0, %r1;");
    both_add(t, BOTH_EXACT, 0, "iyy", "rr",
             "fns.b32 :: and.b32 %r30, %r1, 31; and.b32 %r31, %r2, 63; sub.s32 %r31, %r31, 32; "
             "fns.b32 %r20, %r0, %r30, %r31; fns.b32 %r21, %r0, %r30, 0;");
}

static void videos(struct both_table *t)
{
    t->family = "video";
    both_add(t, BOTH_EXACT, 0, "iii", "r",
             "<vadd|vsub|vavrg|vabsdiff|vmin|vmax><2|4>.<u32|s32>.<u32|s32>.s32<|.sat> %r20, %r0, %r1, %r2;");
    both_add(t, BOTH_EXACT, 0, "iii", "r",
             "<vadd|vsub|vabsdiff><2|4>.<u32|s32>.<u32|s32>.u32.add %r20, %r0, %r1, %r2;");
}

void both_integers(struct both_table *t)
{
    arithmetic(t);
    carries(t);
    bits(t);
    videos(t);
}
