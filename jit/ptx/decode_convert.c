// cvt in all its forms. Narrow integers are extended first and cut afterwards, narrow floats go through f32 or f64.
#include "base/memory.h"
#include "jit/ptx/convert.h"
#include "jit/ptx/decode.h"
#include "jit/ptx/numbers.h"

#include <stdio.h>
#include <string.h>

struct cvt {
    struct ptx_type to, from;
    int mode;     // enum ptx_rounding
    int integral; // rounding to an integer was asked for
    bool ftz, sat, satfinite, relu, rounded;
};

static bool is_int(struct ptx_type t)
{
    return t.kind == 'u' || t.kind == 's' || t.kind == 'b';
}

static uint32_t extended(struct ptx_decoder *d, uint32_t v, struct ptx_type t)
{
    if (t.bits >= 32)
        return v;
    char key[40];
    snprintf(key, sizeof key, "%cext%d_b32", t.kind == 's' ? 's' : 'z', t.bits);
    return ptx_emit_to(d, key, 32, v);
}

// v (of the type's storage) into the result register, which may be wider than the type.
static void put(struct ptx_decoder *d, const struct ptx_operand *to, uint32_t v, struct ptx_type t, bool cut)
{
    if (to->kind != PTX_REG) {
        ptx_refuse(d, "the result is no register");
        return;
    }
    uint32_t r = (uint32_t)to->reg;
    int bits = d->func->reg_bits[r];
    bool is_signed = t.kind == 's';
    if (cut && t.bits < 32)
        v = extended(d, v, t);
    if (bits == 64 && ptx_storage(t) == 32)
        ptx_emit(d, is_signed ? "sext_b64" : "zext_b64", 2, r, v);
    else if (bits == 16 && cut && is_signed)
        ptx_emit(d, "zext16_b32", 2, r, v);
    else
        ptx_emit(d, ptx_storage(t) == 64 ? "mov_b64" : "mov_b32", 2, ptx_result(d, to, ptx_storage(t)), v);
}

static void int_to_int(struct ptx_decoder *d, const struct cvt *c, const struct ptx_operand *to, uint32_t v)
{
    v = extended(d, v, c->from);
    int from = ptx_storage(c->from), storage = ptx_storage(c->to);
    const char *up = c->from.kind == 's' ? "sext_b64" : "zext_b64";
    if (c->sat) {
        if (from == 32)
            v = ptx_emit_to(d, up, 64, v);
        uint32_t t = ptx_temp(d, 64);
        ptx_emit(d, "satint", 2, t, v)->sub = PTX_TO_INT(c->to.bits, c->to.kind == 's', 0, c->from.kind == 's');
        v = t;
        from = 64;
    }
    if (from == 32 && storage == 64 && d->func->reg_bits[to->reg] == 64) {
        ptx_emit(d, up, 2, ptx_result(d, to, 64), v);
        return;
    }
    if (from == 64 && storage == 32 && c->to.bits == 32 && d->func->reg_bits[to->reg] == 32) {
        ptx_emit(d, "trunc_b32", 2, ptx_result(d, to, 32), v);
        return;
    }
    if (from == 32 && storage == 64)
        v = ptx_emit_to(d, up, 64, v);
    if (from == 64 && storage == 32)
        v = ptx_emit_to(d, "trunc_b32", 32, v);
    put(d, to, v, c->to, true);
}

static uint32_t as_f32(struct ptx_decoder *d, uint32_t v, struct ptx_type t)
{
    if (t.kind == 'h')
        return ptx_emit_to(d, "f32_of_f16", 32, v);
    return t.kind == 'w' ? ptx_emit_to(d, "f32_of_bf16", 32, v) : v;
}

static void float_to_int(struct ptx_decoder *d, const struct cvt *c, const struct ptx_operand *to, uint32_t v)
{
    bool from64 = c->from.bits == 64;
    v = as_f32(d, v, c->from);
    if (c->ftz && !from64)
        v = ptx_emit_to(d, "ftz_f32", 32, v);
    uint32_t t = ptx_temp(d, ptx_storage(c->to));
    struct ptx_op *o = ptx_emit(d, from64 ? "toint_f64" : "toint_f32", 2, t, v);
    o->sub = PTX_TO_INT(c->to.bits, c->to.kind == 's', c->mode, 0);
    put(d, to, t, c->to, c->to.kind == 's');
}

static int narrow_format(struct ptx_type t)
{
    return t.kind == 'h'   ? PTX_TO_F16
           : t.kind == 'w' ? PTX_TO_BF16
           : t.kind == '4' ? PTX_TO_E4M3
           : t.kind == '5' ? PTX_TO_E5M2
                           : PTX_TO_TF32;
}

static void finish_float(struct ptx_decoder *d, const struct cvt *c, uint32_t r)
{
    if (c->ftz && c->to.kind == 'f' && c->to.bits == 32)
        ptx_emit(d, "ftz_f32", 2, r, r);
    if (c->sat)
        ptx_emit(d, c->to.kind == 'h' ? "sat_f16" : c->to.bits == 64 ? "sat_f64" : "sat_f32", 2, r, r);
}

static void int_to_float(struct ptx_decoder *d, const struct cvt *c, const struct ptx_operand *to, uint32_t v)
{
    v = extended(d, v, c->from);
    int from = ptx_storage(c->from);
    char key[40], sign = c->from.kind == 's' ? 's' : 'u';
    uint32_t r = ptx_result(d, to, ptx_storage(c->to));
    if (c->to.kind == 'f') {
        snprintf(key, sizeof key, "%sf%d_of_%c%d", c->mode == PTX_RN ? "" : "round_", c->to.bits, sign, from);
        ptx_emit(d, key, 2, r, v)->sub = (uint16_t)c->mode;
    } else {
        snprintf(key, sizeof key, "%sf64_of_%c%d", from == 64 ? "odd_" : "", sign, from);
        uint32_t t = ptx_emit_to(d, key, 64, v);
        ptx_emit(d, "narrow_f64", 2, r, t)->sub = PTX_NARROW(narrow_format(c->to), c->mode, 0, 0);
    }
    finish_float(d, c, r);
}

// To f16, bf16, tf32 from f32 or f64.
static void narrow_float(struct ptx_decoder *d, const struct cvt *c, uint32_t r, uint32_t v, bool from64)
{
    bool plain = c->mode == PTX_RN && !c->satfinite && !c->relu && !from64;
    if (plain && c->to.kind == 'h')
        ptx_emit(d, "f16_of_f32", 2, r, v);
    else if (plain && c->to.kind == 'w')
        ptx_emit(d, "bf16_of_f32", 2, r, v);
    else
        ptx_emit(d, from64 ? "narrow_f64" : "narrow_f32", 2, r, v)->sub =
            PTX_NARROW(narrow_format(c->to), c->mode, c->satfinite, c->relu);
}

static void float_to_float(struct ptx_decoder *d, const struct cvt *c, const struct ptx_operand *to, uint32_t v)
{
    static const char *const integral[] = {"rni", "rzi", "rmi", "rpi"};
    bool from64 = c->from.bits == 64, to64 = c->to.bits == 64;
    uint32_t r = ptx_result(d, to, ptx_storage(c->to));
    char key[40];
    v = as_f32(d, v, c->from);
    if (c->ftz && !from64)
        v = ptx_emit_to(d, "ftz_f32", 32, v);
    if (c->integral) {
        snprintf(key, sizeof key, "%s_f%d", integral[c->mode], from64 ? 64 : 32);
        v = ptx_emit_to(d, key, from64 ? 64 : 32, v);
    }
    if (c->to.kind != 'f') {
        struct cvt n = *c;
        if (c->integral)
            n.mode = PTX_RN; // exact
        narrow_float(d, &n, r, v, from64);
    } else if (from64 == to64) {
        ptx_emit(d, to64 ? "mov_b64" : "mov_b32", 2, r, v);
    } else if (to64) {
        ptx_emit(d, "f64_of_f32", 2, r, v);
    } else {
        bool directed = c->mode != PTX_RN && !c->integral;
        snprintf(key, sizeof key, "%sf32_of_f64%s", directed ? "round_" : "", c->ftz ? "_ftz" : "");
        ptx_emit(d, key, 2, r, v)->sub = (uint16_t)c->mode;
    }
    if (c->relu && c->to.kind == 'f')
        ptx_refuse(d, "the modifier .relu is not supported here");
    finish_float(d, c, r);
}

// Two floats into a pair, or a pair into another.
static void pairs(struct ptx_decoder *d, const struct cvt *c, const struct ptx_operand *to)
{
    uint32_t r = ptx_result(d, to, 32), a = ptx_source(d, ptx_arg(d, 1), 32);
    if (c->from.x2) {
        bool widens = (c->from.kind == '4' || c->from.kind == '5') && c->to.kind == 'h';
        bool narrows = c->from.kind == 'h' && (c->to.kind == '4' || c->to.kind == '5');
        if (widens)
            ptx_emit(d, c->from.kind == '4' ? "widen2_e4m3" : "widen2_e5m2", 2, r, a)->sub = c->relu;
        else if (narrows)
            ptx_emit(d, "narrow2_f16x2", 2, r, a)->sub =
                PTX_NARROW(narrow_format(c->to), c->mode, c->satfinite, c->relu);
        else
            ptx_refuse(d, "this pair of types is not supported");
        return;
    }
    uint32_t b = ptx_source(d, ptx_arg(d, 2), 32);
    if (c->from.kind != 'f' || c->from.bits != 32) {
        ptx_refuse(d, "this pair of types is not supported");
        return;
    }
    if (c->mode == PTX_RN && !c->satfinite && !c->relu && (c->to.kind == 'h' || c->to.kind == 'w'))
        ptx_emit(d, c->to.kind == 'h' ? "f16x2_of_f32" : "bf16x2_of_f32", 3, r, a, b);
    else
        ptx_emit(d, "narrow2_f32", 3, r, a, b)->sub = PTX_NARROW(narrow_format(c->to), c->mode, c->satfinite, c->relu);
}

static void cvt_pack(struct ptx_decoder *d)
{
    struct ptx_type to = ptx_take_type(d);
    ptx_take_type(d);
    ptx_mod(d, "sat");
    bool more = d->in->operand_count > 3;
    if (more)
        ptx_take_type(d);
    uint32_t regs[4] = {ptx_result(d, ptx_arg(d, 0), 32), ptx_source(d, ptx_arg(d, 1), 32),
                        ptx_source(d, ptx_arg(d, 2), 32)};
    if (more)
        regs[3] = ptx_source(d, ptx_arg(d, 3), 32);
    if (to.bits > 16 || to.bits < 8) {
        ptx_refuse(d, "packing into %d bits is not supported", to.bits);
        return;
    }
    ptx_emit_list(d, "cvtpack", more ? 4 : 3, regs, 1)->sub = (uint16_t)(to.bits | (to.kind == 's') << 7);
}

static void decode_cvt(struct ptx_decoder *d)
{
    static const char *const integral[] = {"rni", "rzi", "rmi", "rpi"};
    if (ptx_mod(d, "pack")) {
        cvt_pack(d);
        return;
    }
    struct cvt c = {.ftz = ptx_mod(d, "ftz"),
                    .sat = ptx_mod(d, "sat"),
                    .satfinite = ptx_mod(d, "satfinite"),
                    .relu = ptx_mod(d, "relu")};
    c.to = ptx_take_type(d);
    c.from = ptx_take_type(d);
    c.integral = ptx_mod_any(d, integral, 4, &c.mode);
    if (!c.integral)
        c.mode = ptx_rounding(d);
    const struct ptx_operand *to = ptx_arg(d, 0);
    if (c.to.x2) {
        pairs(d, &c, to);
        return;
    }
    if (to->kind != PTX_REG) {
        ptx_refuse(d, "the result is no register");
        return;
    }
    uint32_t v = ptx_source_type(d, ptx_arg(d, 1), c.from);
    if (is_int(c.from) && is_int(c.to))
        int_to_int(d, &c, to, v);
    else if (is_int(c.to))
        float_to_int(d, &c, to, v);
    else if (is_int(c.from))
        int_to_float(d, &c, to, v);
    else
        float_to_float(d, &c, to, v);
}

const struct ptx_decode_entry ptx_decode_convert[] = {
    {"cvt", decode_cvt, PTX_CLASS_CONVERT},
    {NULL, NULL, 0},
};
