// Arithmetic, comparisons and logic.
#include "base/memory.h"
#include "jit/ptx/decode.h"
#include "jit/ptx/lanes.h"
#include "jit/ptx/numbers.h"

#include <stdio.h>
#include <string.h>

static bool known(const char *key)
{
    return ptx_find_handler(key) != NULL;
}

static void set_float_class(struct ptx_decoder *d, struct ptx_type t)
{
    if (d->class == PTX_CLASS_SPECIAL || d->class == PTX_CLASS_COMPARE)
        return;
    if (t.kind == 'f')
        d->class = t.bits == 64 ? PTX_CLASS_F64 : PTX_CLASS_F32;
    else if (t.kind == 'h' || t.kind == 'w')
        d->class = PTX_CLASS_F16;
}

// Integer operation `base` on n sources of up to 32 or 64 bits: "add" -> add_b32, "min" -> min_s32.
static struct ptx_op *int_op(struct ptx_decoder *d, const char *base, struct ptx_type t, uint32_t r,
                             const uint32_t *src, int n)
{
    char key[48];
    int bits = t.bits == 64 ? 64 : 32;
    snprintf(key, sizeof key, "%s_b%d", base, bits);
    if (!known(key))
        snprintf(key, sizeof key, "%s_%c%d", base, t.kind == 's' ? 's' : 'u', bits);
    uint32_t regs[8] = {r};
    memcpy(regs + 1, src, (size_t)n * sizeof *src);
    return ptx_emit_list(d, key, n + 1, regs, 1);
}

// 16-bit operations run on 32 bits: sources extended by their sign, the result cut.
void ptx_int_sources(struct ptx_decoder *d, struct ptx_type t, uint32_t *src, int n)
{
    for (int i = 0; i < n; i++)
        if (t.bits == 16 && t.kind == 's' && !t.x2)
            src[i] = ptx_emit_to(d, "sext16_b32", 32, src[i]);
}

static void cut_result(struct ptx_decoder *d, struct ptx_type t, uint32_t r)
{
    if (t.bits == 16 && !t.x2)
        ptx_emit(d, "zext16_b32", 2, r, r);
}

static void packed_int(struct ptx_decoder *d, const char *base, struct ptx_type t, int n)
{
    char key[48];
    snprintf(key, sizeof key, "%s_%c16x2", base, t.kind);
    uint32_t regs[4] = {ptx_result(d, ptx_arg(d, 0), 32)};
    for (int i = 0; i < n; i++)
        regs[i + 1] = ptx_source(d, ptx_arg(d, i + 1), 32);
    ptx_emit_list(d, key, n + 1, regs, 1);
}

static void int_arith(struct ptx_decoder *d, const char *base, struct ptx_type t, int n)
{
    if (t.x2) {
        packed_int(d, base, t, n);
        return;
    }
    int bits = ptx_storage(t);
    uint32_t src[3], r = ptx_result(d, ptx_arg(d, 0), bits);
    for (int i = 0; i < n; i++)
        src[i] = ptx_source_type(d, ptx_arg(d, i + 1), t);
    ptx_int_sources(d, t, src, n);
    int_op(d, base, t, r, src, n);
    cut_result(d, t, r);
}

static const struct {
    const char *name;
    int flops;
} flop_table[] = {{"add", 1}, {"sub", 1}, {"mul", 1}, {"fma", 2}, {"mad", 2}};

static int flops_of(const char *base)
{
    for (size_t i = 0; i < KB_COUNT(flop_table); i++)
        if (!strncmp(base, flop_table[i].name, 3))
            return flop_table[i].flops;
    return 0;
}

static void count_flops(struct ptx_op *o, const char *base, struct ptx_type t)
{
    o->flops = (uint16_t)(flops_of(base) * (t.x2 ? 2 : 1));
    o->flop = o->flops == 0   ? PTX_FLOP_NONE
              : t.kind == 'f' ? (t.bits == 64 ? PTX_FLOP_F64 : PTX_FLOP_F32)
                              : PTX_FLOP_F16;
}

static const char *type_suffix(struct ptx_type t)
{
    if (t.kind == 'f')
        return t.bits == 64 ? "f64" : "f32";
    return t.kind == 'h' ? "f16" : "bf16";
}

static const char *flush_key(struct ptx_type t)
{
    if (t.kind == 'f')
        return "ftz_f32";
    if (t.kind == 'h')
        return t.x2 ? "ftz_f16x2" : "ftz_f16";
    return t.x2 ? "ftz_bf16x2" : "ftz_bf16";
}

// One floating operation with its modifiers; n sources already fetched.
static void float_op(struct ptx_decoder *d, const char *base, struct ptx_type t, uint32_t r, uint32_t *src, int n)
{
    int mode = ptx_rounding(d);
    bool ftz = ptx_mod(d, "ftz"), sat = ptx_mod(d, "sat"), relu = ptx_mod(d, "relu");
    const char *suffix = type_suffix(t);
    char key[64];
    set_float_class(d, t);
    bool directed = mode != PTX_RN;
    snprintf(key, sizeof key, "%s%s_%s%s_ftz", directed ? "round_" : "", base, suffix, t.x2 ? "x2" : "");
    bool inner_ftz = ftz && known(key); // it flushes its result, and its sources too unless it is directed
    if (!inner_ftz)
        key[strlen(key) - strlen("_ftz")] = 0;
    if (ftz && (!inner_ftz || directed))
        for (int i = 0; i < n; i++)
            src[i] = ptx_emit_to(d, flush_key(t), 32, src[i]);
    uint32_t regs[5] = {r};
    memcpy(regs + 1, src, (size_t)n * sizeof *src);
    struct ptx_op *o = ptx_emit_list(d, key, n + 1, regs, 1);
    o->sub = (uint16_t)mode;
    count_flops(o, base, t);
    if (ftz && !inner_ftz)
        ptx_emit(d, flush_key(t), 2, r, r);
    if (sat || relu) {
        snprintf(key, sizeof key, "%s_%s%s", sat ? "sat" : "relu", suffix, t.x2 ? "x2" : "");
        ptx_emit(d, key, 2, r, r);
    }
}

// .f32x2: the halves on their own, with the same modifiers.
static void packed_f32(struct ptx_decoder *d, const char *base, int n)
{
    const struct ptx_type one = {'f', 32, false};
    uint32_t r = ptx_result(d, ptx_arg(d, 0), 64), half[2], part[2][3];
    bool used[PTX_MAX_MODS];
    memcpy(used, d->used, sizeof used);
    for (int i = 0; i < n; i++) {
        uint32_t regs[3] = {part[0][i] = ptx_temp(d, 32), part[1][i] = ptx_temp(d, 32),
                            ptx_source(d, ptx_arg(d, i + 1), 64)};
        ptx_emit_list(d, "unpack2_b64", 3, regs, 3);
    }
    for (int k = 0; k < 2; k++) {
        memcpy(d->used, used, sizeof used);
        half[k] = ptx_temp(d, 32);
        float_op(d, base, one, half[k], part[k], n);
    }
    ptx_emit(d, "pack2_b64", 3, r, half[0], half[1]);
}

// add, sub and fma of .f32 whose first factors or addend are halves: these are exact in single precision.
static void mixed_arith(struct ptx_decoder *d, const char *base, struct ptx_type narrow, int n)
{
    const struct ptx_type wide = {'f', 32, false};
    const char *key = narrow.kind == 'h' ? "f32_of_f16" : "f32_of_bf16";
    uint32_t r = ptx_result(d, ptx_arg(d, 0), 32), src[3];
    if ((narrow.kind != 'h' && narrow.kind != 'w') || narrow.x2)
        ptx_refuse(d, "its types do not go together");
    for (int i = 0; i < n; i++)
        src[i] = i < n - 1 ? ptx_emit_to(d, key, 32, ptx_source_type(d, ptx_arg(d, i + 1), narrow))
                           : ptx_source_type(d, ptx_arg(d, i + 1), wide);
    float_op(d, base, wide, r, src, n);
}

// The type behind the first one, if the instruction has two.
static bool take_second_type(struct ptx_decoder *d, struct ptx_type *t)
{
    int last = d->mods - 1;
    if (last < 0 || d->used[last] || !ptx_parse_type(d->mod[last], t))
        return false;
    return d->used[last] = true;
}

static void float_arith(struct ptx_decoder *d, const char *base, struct ptx_type t, int n)
{
    if (t.kind == 'f' && t.x2) {
        packed_f32(d, base, n);
        return;
    }
    int bits = ptx_storage(t);
    uint32_t src[3], r = ptx_result(d, ptx_arg(d, 0), bits);
    for (int i = 0; i < n; i++)
        src[i] = ptx_source_type(d, ptx_arg(d, i + 1), t);
    float_op(d, base, t, r, src, n);
}

static bool is_float(struct ptx_type t)
{
    return t.kind == 'f' || t.kind == 'h' || t.kind == 'w';
}

// add.cc, addc, sub.cc, subc: the condition code is a predicate of the function.
static bool carry_arith(struct ptx_decoder *d, const char *base, struct ptx_type t, const uint32_t *src, uint32_t r,
                        bool in)
{
    bool out = ptx_mod(d, "cc");
    if (!in && !out)
        return false;
    if (!d->carry)
        d->carry = ptx_temp(d, 1) + 1;
    char key[32];
    snprintf(key, sizeof key, "%s_carry_b%d", base, t.bits);
    uint32_t regs[4] = {r, src[0], src[1], d->carry - 1};
    struct ptx_op *o = ptx_emit_list(d, key, 4, regs, out ? 9 : 1);
    o->sub = (uint16_t)(in | out << 1);
    return true;
}

static void add_or_sub(struct ptx_decoder *d)
{
    bool in = d->root[3] == 'c';
    char base[4] = {d->root[0], d->root[1], d->root[2], 0};
    struct ptx_type t = ptx_take_type(d);
    if (is_float(t)) {
        struct ptx_type narrow;
        if (take_second_type(d, &narrow))
            mixed_arith(d, base, narrow, 2);
        else
            float_arith(d, base, t, 2);
        return;
    }
    if (ptx_mod(d, "sat")) {
        char key[16];
        snprintf(key, sizeof key, "%ssat", base);
        int_arith(d, key, t, 2);
        return;
    }
    bool has_carry = in;
    for (int i = 0; i < d->mods; i++)
        has_carry |= !strcmp(d->mod[i], "cc");
    if (!has_carry) {
        int_arith(d, base, t, 2);
        return;
    }
    uint32_t r = ptx_result(d, ptx_arg(d, 0), t.bits);
    uint32_t src[2] = {ptx_source_type(d, ptx_arg(d, 1), t), ptx_source_type(d, ptx_arg(d, 2), t)};
    carry_arith(d, base, t, src, r, in);
}

// Half of a product: "lo", "hi" or "wide", of already fetched and extended sources.
static void product(struct ptx_decoder *d, struct ptx_type t, int part, uint32_t r, const uint32_t *src)
{
    if (part == 2) {
        if (t.bits == 16)
            ptx_emit(d, "mul_b32", 3, r, src[0], src[1]);
        else
            int_op(d, "mulwide", t, r, src, 2);
    } else if (part == 1 && t.bits == 16) {
        uint32_t p = ptx_temp(d, 32);
        ptx_emit(d, "mul_b32", 3, p, src[0], src[1]);
        ptx_emit(d, t.kind == 's' ? "shr_s32" : "shr_u32", 3, r, p, ptx_constant(d, 16, 32));
        cut_result(d, t, r);
    } else {
        int_op(d, part ? "mulhi" : "mul", t, r, src, 2);
        cut_result(d, t, r);
    }
}

static int take_part(struct ptx_decoder *d)
{
    static const char *const parts[] = {"lo", "hi", "wide"};
    int part = 0;
    if (!ptx_mod_any(d, parts, 3, &part))
        ptx_refuse(d, "one of .lo, .hi and .wide is expected");
    return part;
}

static void decode_mul(struct ptx_decoder *d)
{
    struct ptx_type t = ptx_take_type(d);
    if (is_float(t)) {
        float_arith(d, "mul", t, 2);
        return;
    }
    int part = take_part(d);
    uint32_t r = ptx_result(d, ptx_arg(d, 0), part == 2 && t.bits == 32 ? 64 : ptx_storage(t));
    uint32_t src[2] = {ptx_source_type(d, ptx_arg(d, 1), t), ptx_source_type(d, ptx_arg(d, 2), t)};
    ptx_int_sources(d, t, src, 2);
    product(d, t, part, r, src);
}

static void decode_mad(struct ptx_decoder *d)
{
    struct ptx_type t = ptx_take_type(d);
    if (is_float(t)) {
        float_arith(d, "fma", t, 3);
        return;
    }
    bool in = d->root[3] == 'c';
    int part = take_part(d);
    bool has_carry = in;
    for (int i = 0; i < d->mods; i++)
        has_carry |= !strcmp(d->mod[i], "cc");
    struct ptx_type sum = t;
    sum.bits = part == 2 ? t.bits * 2 : t.bits;
    uint32_t r = ptx_result(d, ptx_arg(d, 0), ptx_storage(sum));
    uint32_t src[3] = {ptx_source_type(d, ptx_arg(d, 1), t), ptx_source_type(d, ptx_arg(d, 2), t),
                       ptx_source_type(d, ptx_arg(d, 3), sum)};
    bool sat = ptx_mod(d, "sat");
    if (!part && !has_carry && t.bits != 16) {
        int_op(d, "mad", t, r, src, 3);
        return;
    }
    if (part == 2 && t.bits == 32) {
        int_op(d, "madwide", t, r, src, 3);
        return;
    }
    ptx_int_sources(d, t, src, 2);
    uint32_t p = ptx_temp(d, ptx_storage(sum)), pair[2] = {p, src[2]};
    product(d, t, part, p, src);
    if (has_carry)
        carry_arith(d, "add", sum, pair, r, in);
    else
        int_op(d, sat ? "addsat" : "add", sum, r, pair, 2);
    cut_result(d, sum, r);
}

static void decode_mul24(struct ptx_decoder *d)
{
    struct ptx_type t = ptx_take_type(d);
    int part = take_part(d);
    uint32_t r = ptx_result(d, ptx_arg(d, 0), 32), regs[4] = {r};
    int n = d->root[1] == 'a' ? 3 : 2;
    for (int i = 0; i < n; i++)
        regs[i + 1] = ptx_source_type(d, ptx_arg(d, i + 1), t);
    uint32_t p = n == 3 ? ptx_temp(d, 32) : r;
    ptx_emit(d, t.kind == 's' ? "mul24_s32" : "mul24_u32", 3, p, regs[1], regs[2])->sub = (uint16_t)part;
    if (n == 3)
        ptx_emit(d, ptx_mod(d, "sat") ? "addsat_s32" : "add_b32", 3, r, p, regs[3]);
}

static void decode_simple(struct ptx_decoder *d) // two sources, integer or floating
{
    struct ptx_type t = ptx_take_type(d);
    if (is_float(t))
        float_arith(d, d->root, t, 2);
    else
        int_arith(d, d->root, t, 2);
}

static void decode_fma(struct ptx_decoder *d)
{
    struct ptx_type t = ptx_take_type(d);
    bool oob = ptx_mod(d, "oob");
    if (oob)
        ptx_refuse(d, "the modifier .oob is not supported");
    struct ptx_type narrow;
    if (take_second_type(d, &narrow))
        mixed_arith(d, "fma", narrow, 3);
    else
        float_arith(d, "fma", t, 3);
}

// r = the lesser or greater of two sources; r may be one of them.
static void extreme(struct ptx_decoder *d, struct ptx_type t, uint32_t r, uint32_t a, uint32_t b)
{
    char base[40];
    uint32_t src[2] = {a, b}, sign = 0;
    bool nan = ptx_mod(d, "NaN"), xorsign = ptx_mod(d, "xorsign"), absolute = ptx_mod(d, "abs");
    if (absolute && (t.kind != 'f' || t.bits != 32 || t.x2)) {
        ptx_refuse(d, "the modifier .abs is supported with .f32 only");
        return;
    }
    if (xorsign) {
        if (!absolute) {
            ptx_refuse(d, "the modifier .xorsign is supported with .abs and .f32 only");
            return;
        }
        sign = ptx_temp(d, 32);
        ptx_emit(d, "xorsign_f32", 3, sign, a, b);
    }
    for (int i = 0; i < 2 && absolute; i++)
        src[i] = ptx_emit_to(d, "abs_f32", 32, src[i]);
    if (nan && t.kind == 'f') {
        // The flush is the same for all; the plain keys end in _nan.
        bool ftz = ptx_mod(d, "ftz");
        for (int i = 0; i < 2 && ftz; i++)
            src[i] = ptx_emit_to(d, "ftz_f32", 32, src[i]);
        set_float_class(d, t);
        ptx_emit(d, d->root[1] == 'i' ? "min_f32_nan" : "max_f32_nan", 3, r, src[0], src[1]);
    } else {
        snprintf(base, sizeof base, "%s%s", d->root, nan ? "nan" : "");
        float_op(d, base, t, r, src, 2);
    }
    if (xorsign)
        ptx_emit(d, "orsign_f32", 3, r, r, sign);
}

static void decode_min_max(struct ptx_decoder *d)
{
    struct ptx_type t = ptx_take_type(d);
    if (!is_float(t)) {
        bool relu = ptx_mod(d, "relu");
        int_arith(d, d->root, t, 2);
        if (relu) {
            uint32_t r = ptx_result(d, ptx_arg(d, 0), ptx_storage(t));
            ptx_emit(d, t.x2 ? "relu_s16x2" : "max_s32", t.x2 ? 2 : 3, r, r, ptx_constant(d, 0, 32));
        }
        return;
    }
    int bits = ptx_storage(t);
    bool three = d->in->operand_count > 3, used[PTX_MAX_MODS];
    uint32_t r = ptx_result(d, ptx_arg(d, 0), bits), first = three ? ptx_temp(d, bits) : r;
    memcpy(used, d->used, sizeof used);
    extreme(d, t, first, ptx_source_type(d, ptx_arg(d, 1), t), ptx_source_type(d, ptx_arg(d, 2), t));
    if (!three)
        return;
    for (int i = 0; i < d->mods; i++)
        if (!used[i] && !strcmp(d->mod[i], "xorsign"))
            ptx_refuse(d, "the modifier .xorsign goes with two inputs");
    memcpy(d->used, used, sizeof used);
    extreme(d, t, r, first, ptx_source_type(d, ptx_arg(d, 3), t));
}

static void decode_unary(struct ptx_decoder *d) // neg, abs, not, cnot
{
    struct ptx_type t = ptx_take_type(d);
    if (is_float(t))
        float_arith(d, d->root, t, 1);
    else
        int_arith(d, d->root, t, 1);
}

static void decode_div(struct ptx_decoder *d)
{
    struct ptx_type t = ptx_take_type(d);
    ptx_mod(d, "approx");
    ptx_mod(d, "full");
    if (is_float(t)) {
        float_arith(d, "div", t, 2);
    } else {
        d->class = PTX_CLASS_INTEGER;
        int_arith(d, "div", t, 2);
    }
}

static void decode_special(struct ptx_decoder *d) // rcp, sqrt, rsqrt, ex2, lg2, sin, cos, tanh
{
    struct ptx_type t = ptx_take_type(d);
    bool approx = ptx_mod(d, "approx");
    if (!approx || t.bits != 64 || !ptx_mod(d, "ftz")) {
        float_arith(d, d->root, t, 1);
        return;
    }
    uint32_t r = ptx_result(d, ptx_arg(d, 0), 64);
    uint32_t a = ptx_emit_to(d, "upper_f64", 64, ptx_source_type(d, ptx_arg(d, 1), t));
    float_op(d, d->root, t, r, &a, 1);
    ptx_emit(d, "upper_f64", 2, r, r);
}

static void decode_copysign(struct ptx_decoder *d)
{
    struct ptx_type t = ptx_take_type(d);
    float_arith(d, "copysign", t, 2);
}

static void decode_sad(struct ptx_decoder *d)
{
    int_arith(d, "sad", ptx_take_type(d), 3);
}

static void decode_logic(struct ptx_decoder *d)
{
    struct ptx_type t = ptx_take_type(d);
    int n = !strcmp(d->root, "not") || !strcmp(d->root, "cnot") ? 1 : 2;
    if (t.kind != 'p') {
        int_arith(d, d->root, t, n);
        return;
    }
    d->class = PTX_CLASS_COMPARE;
    uint32_t r = ptx_result(d, ptx_arg(d, 0), 1), a = ptx_predicate(d, ptx_arg(d, 1));
    char key[40];
    snprintf(key, sizeof key, "p%s", d->root);
    if (n == 1)
        ptx_emit(d, key, 2, r, a);
    else
        ptx_emit(d, key, 3, r, a, ptx_predicate(d, ptx_arg(d, 2)));
}

static void decode_shift(struct ptx_decoder *d)
{
    struct ptx_type t = ptx_take_type(d);
    uint32_t r = ptx_result(d, ptx_arg(d, 0), ptx_storage(t));
    uint32_t src[2] = {ptx_source_type(d, ptx_arg(d, 1), t), ptx_source(d, ptx_arg(d, 2), 32)};
    if (t.kind == 's')
        ptx_int_sources(d, t, src, 1);
    if (t.kind == 'b')
        t.kind = 'u';
    int_op(d, d->root, t, r, src, 2);
    cut_result(d, t, r);
}

const struct ptx_decode_entry ptx_decode_alu[] = {
    {"add", add_or_sub, PTX_CLASS_INTEGER},       {"sub", add_or_sub, PTX_CLASS_INTEGER},
    {"addc", add_or_sub, PTX_CLASS_INTEGER},      {"subc", add_or_sub, PTX_CLASS_INTEGER},
    {"mul", decode_mul, PTX_CLASS_INTEGER},       {"mad", decode_mad, PTX_CLASS_INTEGER},
    {"madc", decode_mad, PTX_CLASS_INTEGER},      {"mul24", decode_mul24, PTX_CLASS_INTEGER},
    {"mad24", decode_mul24, PTX_CLASS_INTEGER},   {"fma", decode_fma, PTX_CLASS_F32},
    {"div", decode_div, PTX_CLASS_SPECIAL},       {"rem", decode_simple, PTX_CLASS_INTEGER},
    {"min", decode_min_max, PTX_CLASS_INTEGER},   {"max", decode_min_max, PTX_CLASS_INTEGER},
    {"neg", decode_unary, PTX_CLASS_INTEGER},     {"abs", decode_unary, PTX_CLASS_INTEGER},
    {"sad", decode_sad, PTX_CLASS_INTEGER},       {"and", decode_logic, PTX_CLASS_INTEGER},
    {"or", decode_logic, PTX_CLASS_INTEGER},      {"xor", decode_logic, PTX_CLASS_INTEGER},
    {"not", decode_logic, PTX_CLASS_INTEGER},     {"cnot", decode_logic, PTX_CLASS_INTEGER},
    {"shl", decode_shift, PTX_CLASS_INTEGER},     {"shr", decode_shift, PTX_CLASS_INTEGER},
    {"rcp", decode_special, PTX_CLASS_SPECIAL},   {"sqrt", decode_special, PTX_CLASS_SPECIAL},
    {"rsqrt", decode_special, PTX_CLASS_SPECIAL}, {"ex2", decode_special, PTX_CLASS_SPECIAL},
    {"lg2", decode_special, PTX_CLASS_SPECIAL},   {"sin", decode_special, PTX_CLASS_SPECIAL},
    {"cos", decode_special, PTX_CLASS_SPECIAL},   {"tanh", decode_special, PTX_CLASS_SPECIAL},
    {"copysign", decode_copysign, PTX_CLASS_F32}, {NULL, NULL, 0},
};
