// Loads, stores, address conversions and moves.
#include "base/memory.h"
#include "jit/ptx/decode.h"

#include <stdio.h>
#include <string.h>

bool ptx_take_space(struct ptx_decoder *d, enum ptx_space *space)
{
    // A cluster is one block here.
    static const char *const names[] = {"global", "shared", "shared::cta",  "shared::cluster", "local",
                                        "const",  "param",  "param::entry", "param::func"};
    static const enum ptx_space spaces[] = {PTX_SPACE_GLOBAL, PTX_SPACE_SHARED, PTX_SPACE_SHARED,
                                            PTX_SPACE_SHARED, PTX_SPACE_LOCAL,  PTX_SPACE_CONST,
                                            PTX_SPACE_PARAM,  PTX_SPACE_PARAM,  PTX_SPACE_PARAM};
    int which;
    *space = PTX_SPACE_GENERIC;
    if (!ptx_mod_any(d, names, KB_COUNT(names), &which))
        return false;
    *space = spaces[which];
    return true;
}

struct ptx_memory_order ptx_take_memory_order(struct ptx_decoder *d)
{
    static const char *const orders[] = {"volatile", "relaxed", "acquire", "release", "acq_rel", "sc", "mmio"};
    static const char *const scopes[] = {"cta", "cluster", "gpu", "sys"};
    struct ptx_memory_order order = {PTX_WEAK, false, false};
    int which, scope;
    ptx_mod(d, "weak");
    while (ptx_mod_any(d, orders, KB_COUNT(orders), &which)) {
        order.scope = PTX_SCOPE_DEVICE;
        order.acquires |= which == 2 || which == 4 || which == 5;
        order.releases |= which == 3 || which == 4 || which == 5;
    }
    if (ptx_mod_any(d, scopes, KB_COUNT(scopes), &scope))
        order.scope = scope < 2 ? PTX_SCOPE_BLOCK : PTX_SCOPE_DEVICE;
    return order;
}

void ptx_take_cache_hints(struct ptx_decoder *d)
{
    for (int i = 0; i < d->mods; i++) {
        const char *m = d->mod[i];
        static const char *const plain[] = {"ca", "cg", "cs", "lu", "cv", "nc", "wb", "wt"};
        bool hint = !strncmp(m, "L1::", 4) || !strncmp(m, "L2::", 4);
        for (size_t k = 0; k < KB_COUNT(plain); k++)
            hint |= !strcmp(m, plain[k]);
        d->used[i] |= hint;
    }
}

// Of what class the accesses to a space are.
static enum ptx_class space_class(enum ptx_space s)
{
    static const enum ptx_class classes[] = {
        [PTX_SPACE_GENERIC] = PTX_CLASS_GENERIC, [PTX_SPACE_GLOBAL] = PTX_CLASS_GLOBAL,
        [PTX_SPACE_CONST] = PTX_CLASS_CONST,     [PTX_SPACE_SHARED] = PTX_CLASS_SHARED,
        [PTX_SPACE_LOCAL] = PTX_CLASS_LOCAL,     [PTX_SPACE_PARAM] = PTX_CLASS_CONST,
    };
    return classes[s];
}

static bool entry_param(const struct ptx_decoder *d, const struct ptx_var *v)
{
    for (const struct ptx_var *p = d->func->params; p && d->func->is_entry; p = p->next)
        if (p == v)
            return true;
    return false;
}

int64_t ptx_address(struct ptx_decoder *d, const struct ptx_operand *o, enum ptx_space *space, uint32_t *base,
                    bool *base32)
{
    *base32 = false;
    if (o->kind != PTX_ADDRESS || o->item_count < 1 || o->item_count > 1) {
        ptx_refuse(d, "an address in brackets is expected");
        *base = ptx_constant(d, 0, 64);
        return 0;
    }
    const struct ptx_operand *b = &o->items[0];
    int64_t offset = (int64_t)o->bits;
    if (b->kind == PTX_SYMBOL && b->var) {
        struct ptx_operand symbol = *b;
        symbol.bits = 0;
        // Parameters of calls live in the frame's local memory.
        if (b->var->space == PTX_SPACE_PARAM && !entry_param(d, b->var))
            *space = PTX_SPACE_LOCAL;
        if (*space == PTX_SPACE_GENERIC && b->var->space == PTX_SPACE_SHARED)
            *space = PTX_SPACE_SHARED;
        *base = ptx_source(d, &symbol, 64);
        return offset;
    }
    if (b->kind == PTX_INT) {
        *base = ptx_constant(d, 0, 64);
        return offset;
    }
    if (b->kind == PTX_REG && ptx_reg_bits(d, (uint32_t)b->reg) == 32 && *space != PTX_SPACE_GENERIC &&
        *space != PTX_SPACE_GLOBAL && *space != PTX_SPACE_CONST) {
        *base32 = true;
        *base = (uint32_t)b->reg;
        return offset;
    }
    *base = ptx_source(d, b, 64);
    return offset;
}

static enum ptx_elem element_of(struct ptx_decoder *d, struct ptx_type t)
{
    int bits = t.x2 ? t.bits * 2 : t.bits;
    switch (bits) {
    case 8:
        return t.kind == 's' ? PTX_S8 : PTX_U8;
    case 16:
        return t.kind == 's' ? PTX_S16 : PTX_U16;
    case 32:
        return t.kind == 's' ? PTX_S32 : PTX_B32;
    case 64:
        return PTX_B64;
    case 128: // as two halves
        return PTX_B64;
    default:
        ptx_refuse(d, "accesses of %d bits are not supported", bits);
        return PTX_B32;
    }
}

static int take_vector(struct ptx_decoder *d)
{
    static const char *const names[] = {"v2", "v4", "v8"};
    int which;
    return ptx_mod_any(d, names, 3, &which) ? 2 << which : 1;
}

// The data operands of a load or store: registers (results) or sources.
static int data_operands(struct ptx_decoder *d, const struct ptx_operand *o, int vec, struct ptx_type t, bool load,
                         uint32_t *regs, bool *wide)
{
    const struct ptx_operand *items = vec > 1 ? o->items : o;
    if (t.bits == 128) {
        if (vec > 1)
            ptx_refuse(d, "vectors of 128-bit elements are not supported");
        ptx_halves(d, o, load, regs);
        *wide = true;
        return 2;
    }
    if (vec > 1 && (o->kind != PTX_VECTOR || o->item_count != vec)) {
        ptx_refuse(d, "%d data operands are expected", vec);
        return 0;
    }
    *wide = ptx_storage(t) == 64;
    for (int i = 0; i < vec; i++)
        if (items[i].kind == PTX_REG && ptx_reg_bits(d, (uint32_t)items[i].reg) == 64)
            *wide = true;
    for (int i = 0; i < vec; i++)
        regs[i] = load ? ptx_result(d, &items[i], *wide ? 64 : 32)
                  : *wide && items[i].kind != PTX_REG
                      ? ptx_source(d, &items[i], 64)
                      : ptx_source_type(d, &items[i], *wide ? (struct ptx_type){'b', 64, 0} : t);
    return vec;
}

// A signed narrow load into a 16-bit register keeps only its 16 bits.
static void narrow_results(struct ptx_decoder *d, const uint32_t *regs, int vec, enum ptx_elem elem)
{
    for (int i = 0; i < vec && (elem == PTX_S8 || elem == PTX_S16); i++)
        if (d->func->reg_bits[regs[i]] == 16)
            ptx_emit(d, "zext16_b32", 2, regs[i], regs[i]);
}

static bool load_param(struct ptx_decoder *d, const struct ptx_operand *address, const uint32_t *regs, int vec,
                       enum ptx_elem elem, bool wide)
{
    static const uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 8};
    const struct ptx_operand *b = address->item_count == 1 ? &address->items[0] : address;
    if (b->kind != PTX_SYMBOL || !b->var || !entry_param(d, b->var))
        return false;
    uint64_t offset = b->var->place + address->bits, bytes = sizes[elem];
    if (address->bits + bytes * (uint64_t)vec > b->var->bytes)
        ptx_refuse(d, "it reads past the end of the parameter %s", b->var->name);
    for (int i = 0; i < vec; i++) {
        struct ptx_op *o = ptx_emit(d, wide ? "param_b64" : "param_b32", 1, regs[i]);
        o->imm = (int64_t)(offset + bytes * (uint64_t)i);
        o->elem = (uint8_t)elem;
    }
    narrow_results(d, regs, vec, elem);
    return true;
}

static struct ptx_op *memory_op(struct ptx_decoder *d, const char *key, enum ptx_space space, uint32_t base,
                                bool base32, int64_t offset, const uint32_t *data, int vec, uint64_t defs)
{
    uint32_t regs[9] = {base};
    memcpy(regs + 1, data, (size_t)vec * sizeof *data);
    d->class = (uint8_t)space_class(space);
    struct ptx_op *o = ptx_emit_list(d, key, vec + 1, regs, defs);
    o->space = (uint8_t)space;
    o->base32 = base32;
    o->imm = offset;
    o->vec = (uint8_t)vec;
    return o;
}

void ptx_move_param(struct ptx_decoder *d, struct ptx_var *v, uint32_t reg, bool store)
{
    struct ptx_operand symbol = {.kind = PTX_SYMBOL, .var = v};
    uint8_t class = d->class;
    bool counted = d->counted; // what was written is the call or the return
    d->counted = false;
    uint32_t base = ptx_source(d, &symbol, 64);
    struct ptx_op *o = memory_op(d, store ? "st" : "ld", PTX_SPACE_LOCAL, base, false, 0, &reg, 1, store ? 0 : 2);
    o->elem = v->bytes == 1 ? PTX_U8 : v->bytes == 2 ? PTX_U16 : v->bytes == 4 ? PTX_B32 : PTX_B64;
    o->wide = ptx_reg_bits(d, reg) == 64 && v->bytes < 8;
    o->write = store;
    d->class = class;
    d->counted = counted;
}

static void decode_ld(struct ptx_decoder *d)
{
    enum ptx_space space;
    struct ptx_memory_order order = ptx_take_memory_order(d);
    bool base32, wide = false;
    ptx_take_space(d, &space);
    ptx_take_cache_hints(d);
    ptx_mod(d, "unified");
    int vec = take_vector(d);
    struct ptx_type t = ptx_take_type(d);
    enum ptx_elem elem = element_of(d, t);
    uint32_t regs[8] = {0}, base;
    vec = data_operands(d, ptx_arg(d, 0), vec, t, true, regs, &wide);
    d->class = PTX_CLASS_CONST;
    if (space == PTX_SPACE_PARAM && load_param(d, ptx_arg(d, 1), regs, vec, elem, wide))
        return;
    int64_t offset = ptx_address(d, ptx_arg(d, 1), &space, &base, &base32);
    struct ptx_op *o = memory_op(d, "ld", space, base, base32, offset, regs, vec, (2ull << vec) - 2);
    o->elem = (uint8_t)elem;
    o->wide = wide && elem != PTX_B64;
    o->order = order;
    o->strong = order.scope != PTX_WEAK;
    narrow_results(d, regs, vec, elem);
    if (d->in->operand_count > 3)
        ptx_refuse(d, "it has %d operands", d->in->operand_count);
}

static void decode_st(struct ptx_decoder *d)
{
    enum ptx_space space;
    struct ptx_memory_order order = ptx_take_memory_order(d);
    bool base32, wide = false;
    ptx_take_space(d, &space);
    ptx_take_cache_hints(d);
    int vec = take_vector(d);
    struct ptx_type t = ptx_take_type(d);
    enum ptx_elem elem = element_of(d, t);
    uint32_t regs[8] = {0}, base;
    int64_t offset = ptx_address(d, ptx_arg(d, 0), &space, &base, &base32);
    vec = data_operands(d, ptx_arg(d, 1), vec, t, false, regs, &wide);
    if (space == PTX_SPACE_CONST || space == PTX_SPACE_PARAM)
        ptx_refuse(d, "it writes to constant memory");
    struct ptx_op *o = memory_op(d, "st", space, base, base32, offset, regs, vec, 0);
    o->elem = (uint8_t)elem;
    o->wide = wide && elem != PTX_B64;
    o->order = order;
    o->strong = order.scope != PTX_WEAK;
    o->write = true;
    if (d->in->operand_count > 3)
        ptx_refuse(d, "it has %d operands", d->in->operand_count);
}

static void decode_cvta(struct ptx_decoder *d)
{
    enum ptx_space space;
    bool to = ptx_mod(d, "to");
    if (!ptx_take_space(d, &space))
        ptx_refuse(d, "it names no space");
    int bits = ptx_storage(ptx_take_type(d));
    uint32_t r = ptx_result(d, ptx_arg(d, 0), bits), a = ptx_source(d, ptx_arg(d, 1), bits);
    static const uint64_t tags[] = {[PTX_SPACE_SHARED] = 1, [PTX_SPACE_LOCAL] = 2, [PTX_SPACE_PARAM] = 3};
    uint64_t tag = space <= PTX_SPACE_PARAM ? tags[space] << 60 : 0;
    if (bits == 32)
        ptx_refuse(d, "32-bit generic addresses are not supported");
    if (!tag)
        ptx_emit(d, "mov_b64", 2, r, a);
    else if (to)
        ptx_emit(d, "and_b64", 3, r, a, ptx_constant(d, (1ull << 60) - 1, 64));
    else
        ptx_emit(d, "or_b64", 3, r, a, ptx_constant(d, tag, 64));
}

static void decode_isspacep(struct ptx_decoder *d)
{
    enum ptx_space space;
    if (!ptx_take_space(d, &space))
        ptx_refuse(d, "it names no space");
    uint32_t p = ptx_result(d, ptx_arg(d, 0), 1), a = ptx_source(d, ptx_arg(d, 1), 64);
    static const uint64_t tags[] = {[PTX_SPACE_SHARED] = 1, [PTX_SPACE_LOCAL] = 2, [PTX_SPACE_PARAM] = 3};
    uint32_t t = ptx_temp(d, 64);
    if (space == PTX_SPACE_CONST) { // constant variables are told by their addresses
        ptx_emit(d, "isconst", 2, p, a);
        return;
    }
    ptx_emit(d, "shr_u64", 3, t, a, ptx_constant(d, 60, 32));
    ptx_emit(d, "eq_b64", 3, p, t, ptx_constant(d, tags[space], 64));
}

static void decode_hint(struct ptx_decoder *d) // prefetch and the like: no effect on values
{
    for (int i = 0; i < d->mods; i++)
        d->used[i] = true;
    ptx_emit(d, "nop", 0);
}

static void unpack(struct ptx_decoder *d, const struct ptx_operand *to, const struct ptx_operand *from, int bits)
{
    int n = to->item_count, part = n ? bits / n : 0;
    if ((n != 2 && n != 4) || part < 8) {
        ptx_refuse(d, "%d bits cannot be split into %d registers", bits, n);
        return;
    }
    uint32_t regs[5];
    for (int i = 0; i < n; i++)
        regs[i] = ptx_result(d, &to->items[i], part > 32 ? 64 : 32);
    regs[n] = ptx_source(d, from, bits);
    char key[24];
    snprintf(key, sizeof key, "unpack%d_b%d", n, bits);
    ptx_emit_list(d, key, n + 1, regs, (1u << n) - 1);
}

static void move_128(struct ptx_decoder *d)
{
    uint32_t to[2], from[2];
    ptx_halves(d, ptx_arg(d, 1), false, from);
    ptx_halves(d, ptx_arg(d, 0), true, to);
    uint32_t low = ptx_emit_to(d, "mov_b64", 64, from[0]); // the pairs may overlap
    ptx_emit(d, "mov_b64", 2, to[1], from[1]);
    ptx_emit(d, "mov_b64", 2, to[0], low);
}

static void decode_mov(struct ptx_decoder *d)
{
    struct ptx_type t = ptx_take_type(d);
    const struct ptx_operand *to = ptx_arg(d, 0), *from = ptx_arg(d, 1);
    if (t.kind == 'p') {
        ptx_emit(d, "pmov", 2, ptx_result(d, to, 1), ptx_predicate(d, from));
        return;
    }
    if (t.bits == 128) {
        move_128(d);
        return;
    }
    if (to->kind == PTX_VECTOR) {
        unpack(d, to, from, t.bits);
        return;
    }
    int bits = ptx_storage(t);
    uint32_t r = ptx_result(d, to, bits), a;
    if (from->kind == PTX_VECTOR && t.bits == 16) { // two bytes
        uint32_t regs[3] = {r, ptx_source(d, &from->items[0], 32),
                            ptx_source(d, &from->items[from->item_count - 1], 32)};
        ptx_emit_list(d, "pack2_b16", 3, regs, 1);
        return;
    }
    a = ptx_source_type(d, from, t);
    ptx_emit(d, bits == 64 ? "mov_b64" : "mov_b32", 2, r, a);
}

static void decode_ldu(struct ptx_decoder *d)
{
    decode_ld(d);
}

static void decode_createpolicy(struct ptx_decoder *d)
{
    for (int i = 0; i < d->mods; i++)
        d->used[i] = true;
    ptx_emit(d, "mov_b64", 2, ptx_result(d, ptx_arg(d, 0), 64), ptx_constant(d, 0, 64));
}

const struct ptx_decode_entry ptx_decode_memory[] = {
    {"ld", decode_ld, PTX_CLASS_GENERIC},
    {"ldu", decode_ldu, PTX_CLASS_GENERIC},
    {"st", decode_st, PTX_CLASS_GENERIC},
    {"cvta", decode_cvta, PTX_CLASS_INTEGER},
    {"isspacep", decode_isspacep, PTX_CLASS_COMPARE},
    {"prefetch", decode_hint, PTX_CLASS_GENERIC},
    {"prefetchu", decode_hint, PTX_CLASS_GENERIC},
    {"applypriority", decode_hint, PTX_CLASS_GENERIC},
    {"discard", decode_hint, PTX_CLASS_GENERIC},
    {"createpolicy", decode_createpolicy, PTX_CLASS_MOVE},
    {"mov", decode_mov, PTX_CLASS_MOVE},
    {NULL, NULL, 0},
};
