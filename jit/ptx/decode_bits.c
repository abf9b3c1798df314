// Bit manipulation and small dot products.
#include "base/memory.h"
#include "jit/ptx/decode.h"

#include <stdio.h>
#include <string.h>

// Key "root_b32" with the signedness in sub (1: signed), all operands of the same storage except those given.
static void count_bits(struct ptx_decoder *d) // popc, clz: the result has 32 bits
{
    struct ptx_type t = ptx_take_type(d);
    char key[48];
    snprintf(key, sizeof key, "%s_b%d", d->root, t.bits);
    ptx_emit(d, key, 2, ptx_result(d, ptx_arg(d, 0), 32), ptx_source_type(d, ptx_arg(d, 1), t));
}

static void decode_brev(struct ptx_decoder *d)
{
    struct ptx_type t = ptx_take_type(d);
    int bits = ptx_storage(t);
    ptx_emit(d, bits == 64 ? "brev_b64" : "brev_b32", 2, ptx_result(d, ptx_arg(d, 0), bits),
             ptx_source_type(d, ptx_arg(d, 1), t));
}

static void decode_bfind(struct ptx_decoder *d)
{
    struct ptx_type t = ptx_take_type(d);
    bool shift = ptx_mod(d, "shiftamt");
    struct ptx_op *o = ptx_emit(d, t.bits == 64 ? "bfind_b64" : "bfind_b32", 2, ptx_result(d, ptx_arg(d, 0), 32),
                                ptx_source_type(d, ptx_arg(d, 1), t));
    o->sub = (uint16_t)((t.kind == 's') | shift << 1);
}

static void decode_bfe(struct ptx_decoder *d)
{
    struct ptx_type t = ptx_take_type(d);
    int bits = ptx_storage(t);
    uint32_t r = ptx_result(d, ptx_arg(d, 0), bits), a = ptx_source_type(d, ptx_arg(d, 1), t);
    uint32_t b = ptx_source(d, ptx_arg(d, 2), 32), c = ptx_source(d, ptx_arg(d, 3), 32);
    const char *key = bits == 64 ? "bfe_b64" : t.kind == 's' ? "bfe_b32" : "bfe_u32";
    ptx_emit(d, key, 4, r, a, b, c)->sub = t.kind == 's';
}

static void decode_bfi(struct ptx_decoder *d)
{
    struct ptx_type t = ptx_take_type(d);
    int bits = ptx_storage(t);
    uint32_t regs[5] = {ptx_result(d, ptx_arg(d, 0), bits), ptx_source_type(d, ptx_arg(d, 1), t),
                        ptx_source_type(d, ptx_arg(d, 2), t), ptx_source(d, ptx_arg(d, 3), 32),
                        ptx_source(d, ptx_arg(d, 4), 32)};
    ptx_emit_list(d, bits == 64 ? "bfi_b64" : "bfi_b32", 5, regs, 1);
}

static void decode_prmt(struct ptx_decoder *d)
{
    static const char *const modes[] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
    int which = -1;
    ptx_take_type(d);
    ptx_mod_any(d, modes, KB_COUNT(modes), &which);
    uint32_t r = ptx_result(d, ptx_arg(d, 0), 32), a = ptx_source(d, ptx_arg(d, 1), 32);
    uint32_t b = ptx_source(d, ptx_arg(d, 2), 32), c = ptx_source(d, ptx_arg(d, 3), 32);
    ptx_emit(d, "prmt", 4, r, a, b, c)->sub = (uint16_t)(which + 1);
}

static void decode_lop3(struct ptx_decoder *d)
{
    ptx_take_type(d);
    static const char *const bool_ops[] = {"or", "and"};
    int which = -1;
    ptx_mod_any(d, bool_ops, 2, &which);
    const struct ptx_operand *to = ptx_arg(d, 0), *table = ptx_arg(d, 4);
    const struct ptx_operand *value = to->kind == PTX_PAIR ? &to->items[0] : to;
    uint32_t regs[4] = {ptx_result(d, value, 32), ptx_source(d, ptx_arg(d, 1), 32), ptx_source(d, ptx_arg(d, 2), 32),
                        ptx_source(d, ptx_arg(d, 3), 32)};
    if (table->kind != PTX_INT) {
        ptx_refuse(d, "its table is no constant");
        return;
    }
    uint32_t r = regs[0] = to->kind == PTX_PAIR ? ptx_temp(d, 32) : regs[0];
    ptx_emit_list(d, "lop3", 4, regs, 1)->imm = (int64_t)(table->bits & 0xff);
    if (to->kind != PTX_PAIR)
        return;
    uint32_t p = ptx_temp(d, 1), q = ptx_predicate(d, ptx_arg(d, 5));
    ptx_emit(d, "ne_b32", 3, p, r, ptx_constant(d, 0, 32));
    ptx_emit(d, which == 1 ? "pand" : "por", 3, ptx_result(d, &to->items[1], 1), p, q);
    if (value->kind == PTX_REG)
        ptx_emit(d, "mov_b32", 2, (uint32_t)value->reg, r);
}

static void decode_shf(struct ptx_decoder *d)
{
    ptx_take_type(d);
    bool left = ptx_mod(d, "l");
    if (!left)
        ptx_mod(d, "r");
    bool wrap = ptx_mod(d, "wrap");
    if (!wrap)
        ptx_mod(d, "clamp");
    uint32_t r = ptx_result(d, ptx_arg(d, 0), 32), a = ptx_source(d, ptx_arg(d, 1), 32);
    uint32_t b = ptx_source(d, ptx_arg(d, 2), 32), c = ptx_source(d, ptx_arg(d, 3), 32);
    char key[16];
    snprintf(key, sizeof key, "shf_%c_%s", left ? 'l' : 'r', wrap ? "wrap" : "clamp");
    ptx_emit(d, key, 4, r, a, b, c);
}

static void decode_dot(struct ptx_decoder *d) // dp4a.atype.btype, dp2a.{lo,hi}.atype.btype
{
    struct ptx_type a = ptx_take_type(d), b = ptx_take_type(d);
    bool high = ptx_mod(d, "hi");
    ptx_mod(d, "lo");
    uint32_t r = ptx_result(d, ptx_arg(d, 0), 32), x = ptx_source(d, ptx_arg(d, 1), 32);
    uint32_t y = ptx_source(d, ptx_arg(d, 2), 32), z = ptx_source(d, ptx_arg(d, 3), 32);
    struct ptx_op *o = ptx_emit(d, d->root[2] == '4' ? "dp4a" : "dp2a", 4, r, x, y, z);
    o->sub = (uint16_t)((a.kind == 's') | (b.kind == 's') << 1 | high << 2);
}

static void decode_fns(struct ptx_decoder *d)
{
    ptx_take_type(d);
    uint32_t r = ptx_result(d, ptx_arg(d, 0), 32), a = ptx_source(d, ptx_arg(d, 1), 32);
    ptx_emit(d, "fns", 4, r, a, ptx_source(d, ptx_arg(d, 2), 32), ptx_source(d, ptx_arg(d, 3), 32));
}

static void decode_bmsk(struct ptx_decoder *d)
{
    ptx_take_type(d);
    bool wrap = ptx_mod(d, "wrap");
    if (!wrap)
        ptx_mod(d, "clamp");
    uint32_t r = ptx_result(d, ptx_arg(d, 0), 32);
    ptx_emit(d, "bmsk", 3, r, ptx_source(d, ptx_arg(d, 1), 32), ptx_source(d, ptx_arg(d, 2), 32))->sub = wrap;
}

static void decode_szext(struct ptx_decoder *d)
{
    struct ptx_type t = ptx_take_type(d);
    bool wrap = ptx_mod(d, "wrap");
    if (!wrap)
        ptx_mod(d, "clamp");
    uint32_t r = ptx_result(d, ptx_arg(d, 0), 32);
    struct ptx_op *o = ptx_emit(d, "szext", 3, r, ptx_source(d, ptx_arg(d, 1), 32), ptx_source(d, ptx_arg(d, 2), 32));
    o->sub = (uint16_t)(wrap | (t.kind == 's') << 1);
}

const struct ptx_decode_entry ptx_decode_bits[] = {
    {"popc", count_bits, PTX_CLASS_INTEGER},
    {"clz", count_bits, PTX_CLASS_INTEGER},
    {"brev", decode_brev, PTX_CLASS_INTEGER},
    {"bfind", decode_bfind, PTX_CLASS_INTEGER},
    {"bfe", decode_bfe, PTX_CLASS_INTEGER},
    {"bfi", decode_bfi, PTX_CLASS_INTEGER},
    {"prmt", decode_prmt, PTX_CLASS_INTEGER},
    {"lop3", decode_lop3, PTX_CLASS_INTEGER},
    {"shf", decode_shf, PTX_CLASS_INTEGER},
    {"dp4a", decode_dot, PTX_CLASS_INTEGER},
    {"dp2a", decode_dot, PTX_CLASS_INTEGER},
    {"fns", decode_fns, PTX_CLASS_INTEGER},
    {"bmsk", decode_bmsk, PTX_CLASS_INTEGER},
    {"szext", decode_szext, PTX_CLASS_INTEGER},
    {NULL, NULL, 0},
};
