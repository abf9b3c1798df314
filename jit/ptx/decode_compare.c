// Comparisons and selections: setp, set, selp, slct, testp.
#include "base/memory.h"
#include "jit/ptx/decode.h"

#include <stdio.h>
#include <string.h>

static bool is_float(struct ptx_type t)
{
    return t.kind == 'f' || t.kind == 'h' || t.kind == 'w';
}

struct compare {
    const char *name, *key; // of the ordered comparison
    bool swap, flip;        // operands exchanged; result negated
};
static const struct compare compares[] = {
    {"eq", "eq", 0, 0},  {"ne", "ne", 0, 0},   {"lt", "lt", 0, 0},   {"le", "le", 0, 0},  {"gt", "lt", 1, 0},
    {"ge", "le", 1, 0},  {"lo", "lt", 0, 0},   {"ls", "le", 0, 0},   {"hi", "lt", 1, 0},  {"hs", "le", 1, 0},
    {"equ", "ne", 0, 1}, {"neu", "eq", 0, 1},  {"ltu", "le", 1, 1},  {"leu", "lt", 1, 1}, {"gtu", "le", 0, 1},
    {"geu", "lt", 0, 1}, {"num", "num", 0, 0}, {"nan", "num", 0, 1},
};

static const struct compare *take_compare(struct ptx_decoder *d)
{
    for (size_t i = 0; i < KB_COUNT(compares); i++)
        if (ptx_mod(d, compares[i].name))
            return &compares[i];
    ptx_refuse(d, "it has no comparison");
    return &compares[0];
}

static uint32_t compare_to(struct ptx_decoder *d, const struct compare *c, struct ptx_type t, uint32_t *src)
{
    char key[32];
    if (is_float(t)) {
        bool ftz = ptx_mod(d, "ftz");
        for (int i = 0; i < 2; i++) {
            if (ftz && t.kind != 'f')
                src[i] = ptx_emit_to(d, t.kind == 'h' ? "ftz_f16" : "ftz_bf16", 32, src[i]);
            if (t.kind != 'f')
                src[i] = ptx_emit_to(d, t.kind == 'h' ? "f32_of_f16" : "f32_of_bf16", 32, src[i]);
            else if (ftz)
                src[i] = ptx_emit_to(d, "ftz_f32", 32, src[i]);
        }
        snprintf(key, sizeof key, "%s_f%d", c->key, t.bits == 64 ? 64 : 32);
    } else {
        ptx_int_sources(d, t, src, 2);
        int bits = t.bits == 64 ? 64 : 32;
        bool equality = c->key[0] == 'e' || c->key[0] == 'n';
        snprintf(key, sizeof key, "%s_%c%d", c->key, equality ? 'b' : t.kind == 's' ? 's' : 'u', bits);
    }
    uint32_t p = ptx_temp(d, 1);
    ptx_emit(d, key, 3, p, src[c->swap ? 1 : 0], src[c->swap ? 0 : 1]);
    if (!c->flip)
        return p;
    return ptx_emit_to(d, "pnot", 1, p);
}

// Combines with a further predicate operand: ".and", ".or", ".xor".
static uint32_t combine(struct ptx_decoder *d, uint32_t p, int which, const struct ptx_operand *o)
{
    static const char *const keys[] = {"pand", "por", "pxor"};
    uint32_t r = ptx_temp(d, 1);
    ptx_emit(d, keys[which], 3, r, p, ptx_predicate(d, o));
    return r;
}

static const char *const bool_ops[] = {"and", "or", "xor"};

static void packed_compare(struct ptx_decoder *d, const struct compare *c, struct ptx_type t)
{
    const struct ptx_operand *to = ptx_arg(d, 0);
    uint32_t a = ptx_source(d, ptx_arg(d, 1), 32), b = ptx_source(d, ptx_arg(d, 2), 32);
    int which = -1;
    ptx_mod_any(d, bool_ops, 3, &which);
    if (to->kind != PTX_PAIR) {
        ptx_refuse(d, "two results are expected");
        return;
    }
    for (int half = 0; half < 2; half++) {
        uint32_t parts[2];
        uint32_t from[2] = {a, b};
        for (int i = 0; i < 2; i++) {
            parts[i] = ptx_temp(d, 32);
            if (half)
                ptx_emit(d, "shr_u32", 3, parts[i], from[i], ptx_constant(d, 16, 32));
            else
                ptx_emit(d, "zext16_b32", 2, parts[i], from[i]);
        }
        struct ptx_type one = t;
        one.x2 = false;
        uint32_t p = compare_to(d, c, one, parts);
        if (which >= 0)
            p = combine(d, p, which, ptx_arg(d, 3));
        ptx_emit(d, "pmov", 2, ptx_result(d, &to->items[half], 1), p);
    }
}

static void decode_setp(struct ptx_decoder *d)
{
    struct ptx_type t = ptx_take_type(d);
    const struct compare *c = take_compare(d);
    if (t.x2) {
        packed_compare(d, c, t);
        return;
    }
    const struct ptx_operand *to = ptx_arg(d, 0);
    uint32_t src[2] = {ptx_source_type(d, ptx_arg(d, 1), t), ptx_source_type(d, ptx_arg(d, 2), t)};
    int which = -1;
    ptx_mod_any(d, bool_ops, 3, &which);
    if (to->kind == PTX_REG && which < 0 && !c->flip && !is_float(t) && t.bits >= 32) {
        char key[32];
        bool equality = c->key[0] == 'e' || c->key[0] == 'n';
        snprintf(key, sizeof key, "%s_%c%d", c->key, equality ? 'b' : t.kind == 's' ? 's' : 'u', t.bits);
        ptx_emit(d, key, 3, ptx_result(d, to, 1), src[c->swap ? 1 : 0], src[c->swap ? 0 : 1]);
        return;
    }
    uint32_t p = compare_to(d, c, t, src);
    const struct ptx_operand *first = to->kind == PTX_PAIR ? &to->items[0] : to;
    uint32_t not_p = to->kind == PTX_PAIR ? ptx_emit_to(d, "pnot", 1, p) : p;
    uint32_t result = which >= 0 ? combine(d, p, which, ptx_arg(d, 3)) : p;
    uint32_t second = to->kind == PTX_PAIR && which >= 0 ? combine(d, not_p, which, ptx_arg(d, 3)) : not_p;
    ptx_emit(d, "pmov", 2, ptx_result(d, first, 1), result);
    if (to->kind == PTX_PAIR)
        ptx_emit(d, "pmov", 2, ptx_result(d, &to->items[1], 1), second);
}

// set.CmpOp{.BoolOp}.dtype.stype: 1.0 or all ones where true.
static void decode_set(struct ptx_decoder *d)
{
    struct ptx_type result = ptx_take_type(d), t = ptx_take_type(d);
    const struct compare *c = take_compare(d);
    if (t.x2 || result.x2) {
        if (!is_float(t)) {
            ptx_refuse(d, "packed integers are not supported");
            return;
        }
        uint32_t r = ptx_result(d, ptx_arg(d, 0), 32);
        uint32_t a = ptx_source(d, ptx_arg(d, 1), 32), b = ptx_source(d, ptx_arg(d, 2), 32);
        if (ptx_mod(d, "ftz")) {
            a = ptx_emit_to(d, t.kind == 'h' ? "ftz_f16x2" : "ftz_bf16x2", 32, a);
            b = ptx_emit_to(d, t.kind == 'h' ? "ftz_f16x2" : "ftz_bf16x2", 32, b);
        }
        struct ptx_op *o = ptx_emit(d, t.kind == 'h' ? "set_f16x2" : "set_bf16x2", 3, r, a, b);
        o->sub = (uint16_t)((c - compares) | (is_float(result) ? 256 : 0));
        return;
    }
    uint32_t src[2] = {ptx_source_type(d, ptx_arg(d, 1), t), ptx_source_type(d, ptx_arg(d, 2), t)};
    int which = -1;
    ptx_mod_any(d, bool_ops, 3, &which);
    uint32_t p = compare_to(d, c, t, src);
    if (which >= 0)
        p = combine(d, p, which, ptx_arg(d, 3));
    uint64_t one = result.kind == 'f'   ? 0x3f800000
                   : result.kind == 'h' ? 0x3c00
                   : result.kind == 'w' ? 0x3f80
                   : result.bits == 16  ? 0xffff
                                        : 0xffffffff;
    if (ptx_storage(result) != 32) {
        ptx_refuse(d, "64-bit results are not supported");
        return;
    }
    ptx_emit(d, "selp_b32", 4, ptx_result(d, ptx_arg(d, 0), 32), ptx_constant(d, one, 32), ptx_constant(d, 0, 32), p);
}

static void decode_selp(struct ptx_decoder *d)
{
    struct ptx_type t = ptx_take_type(d);
    int bits = ptx_storage(t);
    uint32_t r = ptx_result(d, ptx_arg(d, 0), bits);
    uint32_t a = ptx_source_type(d, ptx_arg(d, 1), t), b = ptx_source_type(d, ptx_arg(d, 2), t);
    const struct ptx_operand *p = ptx_arg(d, 3);
    if (p->kind == PTX_REG && p->negated) {
        struct ptx_operand plain = *p;
        plain.negated = false;
        ptx_emit(d, bits == 64 ? "selp_b64" : "selp_b32", 4, r, b, a, ptx_predicate(d, &plain));
        return;
    }
    ptx_emit(d, bits == 64 ? "selp_b64" : "selp_b32", 4, r, a, b, ptx_predicate(d, p));
}

static void decode_slct(struct ptx_decoder *d)
{
    struct ptx_type t = ptx_take_type(d), by = ptx_take_type(d);
    int bits = ptx_storage(t);
    uint32_t r = ptx_result(d, ptx_arg(d, 0), bits), p = ptx_temp(d, 1);
    uint32_t a = ptx_source_type(d, ptx_arg(d, 1), t), b = ptx_source_type(d, ptx_arg(d, 2), t);
    uint32_t c = ptx_source_type(d, ptx_arg(d, 3), by), zero = ptx_constant(d, 0, 32);
    if (ptx_mod(d, "ftz"))
        c = ptx_emit_to(d, "ftz_f32", 32, c);
    ptx_emit(d, by.kind == 'f' ? "le_f32" : "le_s32", 3, p, zero, c);
    ptx_emit(d, bits == 64 ? "selp_b64" : "selp_b32", 4, r, a, b, p);
}

static void decode_testp(struct ptx_decoder *d)
{
    static const char *const names[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
    struct ptx_type t = ptx_take_type(d);
    int which = 0;
    if (!ptx_mod_any(d, names, KB_COUNT(names), &which))
        ptx_refuse(d, "it has no test");
    uint32_t p = ptx_result(d, ptx_arg(d, 0), 1), a = ptx_source_type(d, ptx_arg(d, 1), t);
    ptx_emit(d, t.bits == 64 ? "testp_f64" : "testp_f32", 2, p, a)->sub = (uint16_t)which;
}

const struct ptx_decode_entry ptx_decode_compare[] = {
    {"setp", decode_setp, PTX_CLASS_COMPARE},   {"set", decode_set, PTX_CLASS_COMPARE},
    {"selp", decode_selp, PTX_CLASS_COMPARE},   {"slct", decode_slct, PTX_CLASS_COMPARE},
    {"testp", decode_testp, PTX_CLASS_COMPARE}, {NULL, NULL, 0},
};
