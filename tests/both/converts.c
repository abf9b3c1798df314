// Snippets of cvt.
#include "both/both.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>

static const struct both_type ints[] = {{"u8", 'i', 'r', 'r'},  {"s8", 'i', 'r', 'r'},  {"u16", 'i', 'r', 'r'},
                                        {"s16", 'i', 'r', 'r'}, {"u32", 'i', 'r', 'r'}, {"s32", 'i', 'r', 'r'},
                                        {"u64", 'l', 'd', 'd'}, {"s64", 'l', 'd', 'd'}};
static const struct both_type floats[] = {
    {"f16", 'k', 'k', 'h'}, {"bf16", 'w', 'w', 'h'}, {"f32", 'f', 'f', 'f'}, {"f64", 'g', 'g', 'g'}};

// cvt<modifiers>.to.from
static void one(struct both_table *t, enum both_how how, const char *modifiers, const struct both_type *to,
                const struct both_type *from)
{
    char *text = kb_format("cvt%s.%s.%s %%%c20, %%%c0;", modifiers, to->name, from->name, to->reg, from->reg);
    both_add(t, how, 0, (char[]){from->in, 0}, (char[]){to->out, 0}, text);
    free(text);
}

// Whether all of from's values are to's: ints alternate unsigned and signed, and rise in width. No .sat is allowed
// then.
static bool holds_all(size_t to, size_t from)
{
    return to / 2 > from / 2 && (to % 2 || !(from % 2));
}

static void with_integers(struct both_table *t)
{
    t->family = "convert integers";
    for (size_t i = 0; i < KB_COUNT(ints); i++)
        for (size_t k = 0; k < KB_COUNT(ints); k++)
            if (i != k)
                one(t, BOTH_EXACT, holds_all(i, k) ? "" : "<|.sat>", &ints[i], &ints[k]);
    for (size_t i = 0; i < KB_COUNT(floats); i++)
        for (size_t k = 0; k < KB_COUNT(ints); k++) {
            struct both_type integer = ints[k];
            if (floats[i].in == 'w' && k < 2) // bytes and bf16 are not converted into each other in common registers
                continue;
            if (floats[i].in == 'w' && k < 4)
                integer = (struct both_type){ints[k].name, 's', 'h', 'h'};
            one(t, BOTH_EXACT, "<.rn|.rz|.rm|.rp>", &floats[i], &integer);
            one(t, BOTH_EXACT, "<.rni|.rzi|.rmi|.rpi>", &integer, &floats[i]);
        }
    one(t, BOTH_EXACT, "<.rni|.rzi>.ftz", &ints[5], &floats[2]);
    one(t, BOTH_EXACT, "<.rni|.rzi><.sat>", &ints[4], &floats[2]);
    one(t, BOTH_EXACT, ".rn.sat", &floats[2], &ints[5]);
    both_add(t, BOTH_EXACT, 0, "s", "h", "cvt<|.sat>.<u8.s16|s8.u16|u8.u16|s8.s16> %h20, %h0;");
    both_add(t, BOTH_EXACT, 0, "ii", "r", "cvt.pack.sat.<u16|s16>.s32 %r20, %r0, %r1;");
    both_add(t, BOTH_EXACT, 0, "iii", "r", "cvt.pack.sat.<u8|s8>.s32.b32 %r20, %r0, %r1, %r2;");
}

static void between_floats(struct both_table *t)
{
    t->family = "convert floats";
    const struct both_type *h = &floats[0], *w = &floats[1], *f = &floats[2], *g = &floats[3];
    one(t, BOTH_NAN, "<.rn|.rz|.rm|.rp><|.ftz><|.sat>", f, g);
    one(t, BOTH_NAN, "<|.ftz><|.sat>", g, f);
    one(t, BOTH_NAN, "<.rn|.rz|.rm|.rp>", h, f);
    one(t, BOTH_NAN, "<.rn|.rz|.rm|.rp>", h, g);
    one(t, BOTH_NAN, "<.rn|.rz>", w, f);
    one(t, BOTH_NAN, "<.rn|.rz>.relu", h, f);
    one(t, BOTH_NAN, "<.rn|.rz>.relu", w, f);
    one(t, BOTH_NAN, "", f, h);
    one(t, BOTH_NAN, "", f, w);
    one(t, BOTH_NAN, "", g, h);
    one(t, BOTH_NAN, "<.rni|.rzi|.rmi|.rpi><|.ftz><|.sat>", f, f);
    one(t, BOTH_NAN, "<.rni|.rzi|.rmi|.rpi>", g, g);
    one(t, BOTH_NAN, "<.rni|.rzi|.rmi|.rpi>", h, h);
    one(t, BOTH_NAN, "<.sat|.ftz|.ftz.sat>", f, f);
    both_add(t, BOTH_NAN, 0, "f", "f", "cvt.<rna|rn|rz|rn.relu|rz.relu>.tf32.f32 %r20, %f0; mov.b32 %f20, %r20;");
    both_add(t, BOTH_NAN, 0, "ff", "K", "cvt.<rn|rz><|.relu>.f16x2.f32 %r20, %f0, %f1;");
    both_add(t, BOTH_NAN, 0, "ff", "W", "cvt.<rn|rz><|.relu>.bf16x2.f32 %r20, %f0, %f1;");
    both_add(t, BOTH_EXACT, 0, "ff", "h", "cvt.rn.satfinite<|.relu>.<e4m3x2|e5m2x2>.f32 %h20, %f0, %f1;");
    both_add(t, BOTH_EXACT, 0, "K", "h", "cvt.rn.satfinite<|.relu>.<e4m3x2|e5m2x2>.f16x2 %h20, %r0;");
    both_add(t, BOTH_NAN, 0, "y", "K", "cvt.rn<|.relu>.f16x2.<e4m3x2|e5m2x2> %r20, %h0;");
}

void both_converts(struct both_table *t)
{
    with_integers(t);
    between_floats(t);
}
