// Kernels that access memory in a known pattern, for the counts: one access a thread, in the patterns that decide about
// sectors and bank conflicts.
#include "both/probes.h"

#include "base/memory.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// %r30: byte offset of the lane's access, from %r52 (lane) and %r50 (thread of the block).
static const struct pattern {
    const char *name, *offset;
    enum { LOADS, STORES, NARROW } also; // by default beside loads of 4 bytes and more: stores, atomics; 1 and 2 bytes
} patterns[] = {
    {"side by side", "mul.lo.u32 %r30, %r52, BYTES;", STORES},
    {"all the same", "mov.u32 %r30, 0;", LOADS},
    {"pairs the same", "shr.u32 %r30, %r52, 1; mul.lo.u32 %r30, %r30, BYTES;", LOADS},
    {"every 2nd", "mul.lo.u32 %r30, %r52, BYTES*2;", NARROW},
    {"every 4th", "mul.lo.u32 %r30, %r52, BYTES*4;", LOADS},
    {"every 8th", "mul.lo.u32 %r30, %r52, BYTES*8;", LOADS},
    {"every 32nd", "mul.lo.u32 %r30, %r52, BYTES*32;", STORES},
    {"every 33rd", "mul.lo.u32 %r30, %r52, BYTES*33;", LOADS},
    {"backwards", "sub.u32 %r30, 31, %r52; mul.lo.u32 %r30, %r30, BYTES;", LOADS},
    {"one on", "mad.lo.u32 %r30, %r52, BYTES, BYTES;", LOADS},
    {"halves swapped", "xor.b32 %r30, %r52, 16; mul.lo.u32 %r30, %r30, BYTES;", LOADS},
    {"halves the same", "and.b32 %r30, %r52, 15; mul.lo.u32 %r30, %r30, BYTES;", LOADS},
    {"scattered",
     "mul.lo.u32 %r30, %r52, 37; xor.b32 %r30, %r30, %r52; and.b32 %r30, %r30, 127; mul.lo.u32 %r30, %r30, "
     "BYTES;",
     NARROW},
    {"first 8 lanes", "setp.ge.u32 %p30, %r52, 8; mul.lo.u32 %r30, %r52, BYTES;", LOADS},
    {"odd lanes", "and.b32 %r31, %r52, 1; setp.eq.u32 %p30, %r31, 0; mul.lo.u32 %r30, %r52, BYTES;", LOADS},
};

static const struct width {
    int bytes;
    const char *suffix, *values; // of a load into, or a store from, registers that exist
} widths[] = {{1, ".u8", "%r20"},
              {2, ".u16", "%r20"},
              {4, ".u32", "%r20"},
              {8, ".v2.u32", "{%r20, %r21}"},
              {16, ".v4.u32", "{%r20, %r21, %r22, %r23}"}};

static char *with_bytes(const char *text, int bytes)
{
    struct kb_text t = {0};
    for (const char *at; (at = strstr(text, "BYTES")); text = at) {
        long factor = 1;
        kb_text_bytes(&t, text, (size_t)(at - text));
        at += 5;
        if (*at == '*') {
            char *end;
            factor = strtol(at + 1, &end, 10);
            at = end;
        }
        kb_text_addf(&t, "%ld", bytes * factor);
    }
    kb_text_add(&t, text);
    return kb_text_take(&t);
}

static void add(struct both_table *t, char *text)
{
    both_add(t, BOTH_EXACT, 0, "", "", text);
    free(text);
}

// A loaded value is used by a store that no thread does, so that the load stays: none is the number of threads, in
// %r62.
#define KEEP                                                                                                           \
    "xor.b32 %%r20, %%r20, %%r21; xor.b32 %%r22, %%r22, %%r23; xor.b32 %%r20, %%r20, %%r22; setp.eq.u32 %%p31, "       \
    "%%r20, %%r62; @%%p31 st.global.u32 [%%d50], %%r20;"
#define EMPTY "mov.u32 %%r20, 0; mov.u32 %%r21, 0; mov.u32 %%r22, 0; mov.u32 %%r23, 0; "
#define NO_VALUES "mov.u32 %%r20, %%r51; mov.u32 %%r21, 1; mov.u32 %%r22, 2; mov.u32 %%r23, 3; "

static void accesses(struct both_table *t, const struct pattern *p, const struct width *w, bool all)
{
    const char *guard = strstr(p->offset, "%p30") ? "@!%p30 " : "";
    char *offset = with_bytes(p->offset, w->bytes);
    t->family = "shared";
    bool stores = all || p->also >= STORES;
    bool fits = strcmp(p->name, "every 33rd") || w->bytes < 16; // in 16 KiB
    if (fits)
        add(t, kb_format("shared load of %d: %s :: %s mov.u32 %%r31, sm; add.u32 %%r31, %%r31, %%r30; " EMPTY
                         "%sld.shared%s %s, [%%r31]; " KEEP,
                         w->bytes, p->name, offset, guard, w->suffix, w->values));
    if (fits && stores)
        add(t, kb_format("shared store of %d: %s :: %s mov.u32 %%r31, sm; add.u32 %%r31, %%r31, %%r30; " NO_VALUES
                         "%sst.shared%s [%%r31], %s; bar.sync 0;",
                         w->bytes, p->name, offset, guard, w->suffix, w->values));
    t->family = "global";
    add(t, kb_format("global load of %d: %s :: %s ld.param.u64 %%d30, [pin]; cvt.u64.u32 %%d31, %%r30; add.s64 %%d30, "
                     "%%d30, %%d31; " EMPTY "%sld.global%s %s, [%%d30]; " KEEP,
                     w->bytes, p->name, offset, guard, w->suffix, w->values));
    if (stores)
        add(t, kb_format(
                   "global store of %d: %s :: %s ld.param.u64 %%d30, [pout]; cvt.u64.u32 %%d31, %%r30; add.s64 %%d30, "
                   "%%d30, %%d31; " NO_VALUES "%sst.global%s [%%d30], %s;",
                   w->bytes, p->name, offset, guard, w->suffix, w->values));
    free(offset);
}

static void atomics(struct both_table *t, const struct pattern *p)
{
    const char *guard = strstr(p->offset, "%p30") ? "@!%p30 " : "";
    char *offset = with_bytes(p->offset, 4);
    t->family = "shared";
    add(t, kb_format("shared atomic add: %s :: %s mov.u32 %%r31, sm; add.u32 %%r31, %%r31, %%r30; " EMPTY
                     "%satom.shared.add.u32 %%r20, [%%r31], 3; " KEEP,
                     p->name, offset, guard));
    t->family = "global";
    add(t, kb_format("global reduction: %s :: %s ld.param.u64 %%d30, [pout]; cvt.u64.u32 %%d31, %%r30; add.s64 %%d30, "
                     "%%d30, %%d31; %sred.global.add.u32 [%%d30], 3;",
                     p->name, offset, guard));
    add(t, kb_format("global atomic add: %s :: %s ld.param.u64 %%d30, [pout]; cvt.u64.u32 %%d31, %%r30; add.s64 %%d30, "
                     "%%d30, %%d31; " EMPTY "%satom.global.add.u32 %%r20, [%%d30], 3; " KEEP,
                     p->name, offset, guard));
    free(offset);
}

static void transposes(struct both_table *t)
{
    static const int rows[] = {32, 33}; // words of a row
    t->family = "shared";
    for (int i = 0; i < 2; i++)
        add(t,
            kb_format("transpose, rows of %d words :: mov.u32 %%r31, sm; shr.u32 %%r32, %%r50, 5; mad.lo.u32 %%r33, "
                      "%%r32, %d, %%r52; shl.b32 %%r33, %%r33, 2; add.u32 %%r33, %%r33, %%r31; st.shared.u32 [%%r33], "
                      "%%r51; bar.sync 0; mad.lo.u32 %%r34, %%r52, %d, %%r32; shl.b32 %%r34, %%r34, 2; add.u32 "
                      "%%r34, %%r34, %%r31; " EMPTY "ld.shared.u32 %%r20, [%%r34]; " KEEP,
                      rows[i], rows[i], rows[i]));
}

static void matrices(struct both_table *t)
{
    static const int strides[] = {16, 32, 64, 128, 144}; // bytes from row to row
    t->family = "shared";
    for (size_t i = 0; i < KB_COUNT(strides); i++) {
        add(t, kb_format(
                   "ldmatrix.x4, rows %d bytes apart :: mov.u32 %%r31, sm; mad.lo.u32 %%r31, %%r52, %d, %%r31; " EMPTY
                   "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%%r20, %%r21, %%r22, %%r23}, [%%r31]; " KEEP,
                   strides[i], strides[i]));
        add(t,
            kb_format(
                "stmatrix.x4, rows %d bytes apart :: mov.u32 %%r31, sm; mad.lo.u32 %%r31, %%r52, %d, %%r31; " NO_VALUES
                "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%%r31], {%%r20, %%r21, %%r22, %%r23}; bar.sync 0;",
                strides[i], strides[i]));
    }
    for (int bytes = 4; bytes <= 16; bytes *= 2)
        for (int step = 1; step <= 4; step *= 4)
            add(t, kb_format("cp.async of %d, every %d :: mov.u32 %%r31, sm; mad.lo.u32 %%r31, %%r52, %d, %%r31; "
                             "ld.param.u64 %%d30, [pin]; mul.wide.u32 %%d31, %%r52, %d; add.s64 %%d30, %%d30, %%d31; "
                             "cp.async.ca.shared.global [%%r31], [%%d30], %d; cp.async.wait_all;",
                             bytes, step, bytes * step, bytes * step, bytes));
}

void both_probes(struct both_table *t, bool all)
{
    for (size_t i = 0; i < KB_COUNT(patterns); i++)
        for (size_t k = 0; k < KB_COUNT(widths); k++)
            if (all || patterns[i].also == NARROW || widths[k].bytes >= 4)
                accesses(t, &patterns[i], &widths[k], all);
    for (size_t i = 0; i < KB_COUNT(patterns); i++)
        if (all || patterns[i].also >= STORES)
            atomics(t, &patterns[i]);
    transposes(t);
    matrices(t);
}
