// Snippets of what lanes and threads do together.
#include "both/both.h"

#include <stdio.h>

static void votes(struct both_table *t)
{
    t->family = "warp";
    both_add(t, BOTH_EXACT, 0, "iy", "rp",
             "shfl.sync.<up|down|bfly|idx>.b32, any lane, clamp <0|31|0x1c1f|0x180f|0x1003> :: and.b32 %r30, %r1, 31; "
             "shfl.sync.<up|down|bfly|idx>.b32 %r20|%p21, %r0, %r30, <0|31|0x1c1f|0x180f|0x1003>, 0xffffffff;");
    both_add(t, BOTH_EXACT, 0, "i", "rp",
             "shfl.sync.<up|down|bfly|idx>.b32 %r20|%p21, %r0, <1|7|16>, <0|31|0x1c07>, -1;");
    both_add(t, BOTH_EXACT, 0, "i", "p", "vote.sync.<all|any|uni>.pred %p20, <|!>%p0, 0xffffffff;");
    both_add(t, BOTH_EXACT, 0, "i", "r", "vote.sync.ballot.b32 %r20, <|!>%p0, 0xffffffff;");
    both_add(t, BOTH_EXACT, 0, "y", "r",
             "match.any.sync.b32 of <1|2|5> bits :: bfe.u32 %r30, %r0, 7, <1|2|5>; match.any.sync.b32 %r20, %r30, -1;");
    both_add(t, BOTH_EXACT, 0, "y", "r",
             "match.any.sync.b64 :: and.b64 %d30, %d0, 0x100000001; match.any.sync.b64 %r20, %d30, 0xffffffff;");
    both_add(t, BOTH_EXACT, 0, "y", "rp",
             "match.all.sync.b32, in groups of 2^<4|5|6> :: shr.u32 %r30, %r51, <4|5|6>; match.all.sync.b32 %r20|%p21, "
             "%r30, "
             "0xffffffff;");
    both_add(t, BOTH_EXACT, 0, "y", "rp",
             "match.all.sync.b64, in groups of 2^<4|5|6> :: shr.u32 %r30, %r51, <4|5|6>; mov.b64 %d30, {5, %r30}; "
             "match.all.sync.b64 %r20|%p21, %d30, 0xffffffff;");
    both_add(t, BOTH_EXACT, 0, "i", "r", "redux.sync.<add|min|max>.<u32|s32> %r20, %r0, 0xffffffff;");
    both_add(t, BOTH_EXACT, 0, "i", "r", "redux.sync.<and|or|xor>.b32 %r20, %r0, 0xffffffff;");
    both_add(t, BOTH_EXACT, 0, "", "r", "activemask.b32 %r20;");
    both_add(t, BOTH_EXACT, 0, "", "p", "elect.sync _|%p20, 0xffffffff;");
}

// Some lanes only: those whose predicate holds branch, and name each other.
static void parts(struct both_table *t)
{
    t->family = "warp in parts";
    static const char *const work[] = {
        "vote.sync.ballot.b32 %r20, %p1, %r30;",
        "redux.sync.add.u32 %r20, %r1, %r30;",
        "redux.sync.max.s32 %r20, %r1, %r30;",
        "match.any.sync.b32 %r20, %r31, %r30;",
        "vote.sync.all.pred %p30, %p1, %r30; selp.u32 %r20, 1, 2, %p30;",
        "shfl.sync.idx.b32 %r20, %r1, %r32, 31, %r30;",
    };
    for (size_t i = 0; i < sizeof work / sizeof *work; i++) {
        char text[600];
        snprintf(text, sizeof text,
                 "part of a warp: %.*s :: vote.sync.ballot.b32 %%r30, %%p0, 0xffffffff; and.b32 %%r31, %%r1, 3; "
                 "bfind.u32 %%r32, %%r30; mov.u32 %%r20, 77; @!%%p0 bra $after; %s $after: bar.warp.sync 0xffffffff;",
                 24, work[i], work[i]);
        both_add(t, BOTH_EXACT, 0, "yi", "r", text);
    }
    both_add(t, BOTH_EXACT, 0, "iy", "r",
             "predicated arithmetic :: mov.u32 %r20, 5; @%p0 add.u32 %r20, %r20, %r1; @!%p0 xor.b32 %r20, %r20, %r0; "
             "@%p1 mul.lo.u32 %r20, %r20, 3;");
    both_add(t, BOTH_EXACT, 0, "y", "r",
             "a loop of a length of its own :: and.b32 %r30, %r0, 63; mov.u32 %r20, %r0; $again: setp.eq.u32 %p30, "
             "%r30, 0; @%p30 bra $done; mad.lo.u32 %r20, %r20, 1664525, %r30; sub.u32 %r30, %r30, 1; bra $again; "
             "$done: bar.warp.sync -1;");
    both_add(t, BOTH_EXACT, 0, "yi", "r",
             "brx.idx :: and.b32 %r30, %r0, 3; $targets: .branchtargets $a, $b, $c, $d; brx.idx %r30, $targets; "
             "$a: add.u32 %r20, %r1, 1; bra $end; $b: mul.lo.u32 %r20, %r1, 3; bra $end; $c: xor.b32 %r20, %r1, 5; "
             "bra $end; $d: sub.u32 %r20, %r1, 9; $end: bar.warp.sync -1;");
}

static void blocks(struct both_table *t)
{
    t->family = "barrier";
    both_add(t, BOTH_EXACT, 0, "i", "p", "barrier.cta.red.<and|or>.pred %p20, 0, <|!>%p0;");
    both_add(t, BOTH_EXACT, 0, "i", "r", "bar.red.popc.u32 %r20, 0, <|!>%p0;");
    both_add(t, BOTH_EXACT, 0, "i", "r",
             "half of a block, bar.red with a count :: setp.lt.u32 %p30, %r50, 64; mov.u32 %r20, 0; @!%p30 bra $rest; "
             "bar.red.popc.u32 %r20, 3, 64, %p0; $rest: bar.sync 0;");
    both_add(t, BOTH_EXACT, 0, "i", "r",
             "through shared memory and bar.sync :: mov.u32 %r30, sm; shl.b32 %r31, %r50, 2; add.u32 %r31, %r31, %r30; "
             "st.shared.u32 [%r31], %r0; bar.sync 0; xor.b32 %r32, %r50, 77; and.b32 %r32, %r32, 127; shl.b32 %r32, "
             "%r32, 2; add.u32 %r32, %r32, %r30; ld.shared.u32 %r20, [%r32];");
    both_add(t, BOTH_EXACT, 0, "i", "r",
             "bar.arrive and bar.sync :: mov.u32 %r30, sm; shl.b32 %r31, %r50, 2; add.u32 %r31, %r31, %r30; "
             "mov.u32 %r20, 0; setp.lt.u32 %p30, %r50, 64; @!%p30 bra $taker; st.shared.u32 [%r31], %r0; "
             "membar.cta; bar.arrive 1, 128; bra $end; $taker: bar.sync 1, 128; ld.shared.u32 %r20, [%r31+-256]; "
             "$end: bar.warp.sync -1;");
    both_add(t, BOTH_EXACT, 0, "i", "r",
             "mbarrier :: mov.u32 %r30, sm; setp.ne.u32 %p30, %r50, 0; @!%p30 mbarrier.init.shared.b64 [%r30], 128; "
             "bar.sync 0; shl.b32 %r31, %r50, 2; add.u32 %r31, %r31, %r30; st.shared.u32 [%r31+16], %r0; "
             "mbarrier.arrive.shared.b64 %d30, [%r30]; $wait: mbarrier.test_wait.shared.b64 %p31, [%r30], %d30; "
             "@!%p31 bra $wait; xor.b32 %r32, %r50, 64; shl.b32 %r32, %r32, 2; add.u32 %r32, %r32, %r30; "
             "ld.shared.u32 %r20, [%r32+16];");
}

void both_warps(struct both_table *t)
{
    votes(t);
    parts(t);
    blocks(t);
}
