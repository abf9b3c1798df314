// Operations across the lanes of a warp, and atomics.
#include "base/memory.h"
#include "jit/ptx/atomic.h"
#include "jit/ptx/decode.h"

#include <stdio.h>
#include <string.h>

static void need_sync(struct ptx_decoder *d)
{
    if (!ptx_mod(d, "sync"))
        ptx_refuse(d, "the form without .sync is not supported");
}

// The value and predicate of "d|p"; p is a temporary where it is not asked for.
static void pair_results(struct ptx_decoder *d, const struct ptx_operand *to, int bits, uint32_t *value, uint32_t *pred)
{
    const struct ptx_operand *first = to->kind == PTX_PAIR ? &to->items[0] : to;
    *value = ptx_result(d, first, bits);
    *pred = to->kind == PTX_PAIR ? ptx_result(d, &to->items[1], 1) : ptx_temp(d, 1);
}

static void decode_shfl(struct ptx_decoder *d)
{
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    int mode = 0;
    need_sync(d);
    if (!ptx_mod_any(d, modes, 4, &mode))
        ptx_refuse(d, "its mode is not known");
    ptx_take_type(d);
    ptx_guard_control(d);
    uint32_t regs[5];
    uint32_t member = ptx_source(d, ptx_arg(d, 4), 32);
    pair_results(d, ptx_arg(d, 0), 32, &regs[0], &regs[4]);
    for (int i = 1; i < 4; i++)
        regs[i] = ptx_source(d, ptx_arg(d, i), 32);
    ptx_begin_sync(d, member);
    ptx_emit_list(d, "shfl", 5, regs, 1 | 1 << 4)->sub = (uint16_t)mode;
}

static void decode_vote(struct ptx_decoder *d)
{
    static const char *const modes[] = {"all", "any", "uni", "ballot"};
    int mode = 0;
    need_sync(d);
    if (!ptx_mod_any(d, modes, 4, &mode))
        ptx_refuse(d, "its mode is not known");
    ptx_take_type(d);
    ptx_guard_control(d);
    uint32_t member = ptx_source(d, ptx_arg(d, 2), 32), p = ptx_predicate(d, ptx_arg(d, 1));
    uint32_t r = ptx_result(d, ptx_arg(d, 0), mode == 3 ? 32 : 1);
    ptx_begin_sync(d, member);
    ptx_emit(d, mode == 3 ? "ballot" : "vote", 2, r, p)->sub = (uint16_t)mode;
}

static void decode_match(struct ptx_decoder *d)
{
    bool all = ptx_mod(d, "all");
    if (!all)
        ptx_mod(d, "any");
    need_sync(d);
    int bits = ptx_storage(ptx_take_type(d));
    ptx_guard_control(d);
    uint32_t member = ptx_source(d, ptx_arg(d, 2), 32), a = ptx_source(d, ptx_arg(d, 1), bits), r, p;
    pair_results(d, ptx_arg(d, 0), 32, &r, &p);
    ptx_begin_sync(d, member);
    uint32_t regs[3] = {r, a, p};
    ptx_emit_list(d, bits == 64 ? "match_b64" : "match_b32", 3, regs, 5)->sub = all;
}

static void decode_redux(struct ptx_decoder *d)
{
    static const char *const ops[] = {"add", "min", "max", "and", "or", "xor"};
    int which = 0;
    need_sync(d);
    if (!ptx_mod_any(d, ops, KB_COUNT(ops), &which))
        ptx_refuse(d, "its operation is not known");
    struct ptx_type t = ptx_take_type(d);
    bool nan = ptx_mod(d, "NaN"), absolute = ptx_mod(d, "abs");
    ptx_guard_control(d);
    uint32_t member = ptx_source(d, ptx_arg(d, 2), 32), a = ptx_source(d, ptx_arg(d, 1), 32);
    uint32_t r = ptx_result(d, ptx_arg(d, 0), 32);
    ptx_begin_sync(d, member);
    ptx_emit(d, t.kind == 'f' ? "redux_f32" : "redux", 2, r, a)->sub =
        (uint16_t)(which | (t.kind == 's') << 4 | nan << 5 | absolute << 6);
}

static void decode_activemask(struct ptx_decoder *d)
{
    ptx_take_type(d);
    ptx_emit(d, "activemask", 1, ptx_result(d, ptx_arg(d, 0), 32));
}

static void decode_elect(struct ptx_decoder *d)
{
    need_sync(d);
    ptx_guard_control(d);
    uint32_t member = ptx_source(d, ptx_arg(d, 1), 32), regs[3];
    pair_results(d, ptx_arg(d, 0), 32, &regs[0], &regs[1]);
    regs[2] = member;
    ptx_begin_sync(d, member);
    ptx_emit_list(d, "elect", 3, regs, 3);
}

static int atomic_type(struct ptx_decoder *d, struct ptx_type t)
{
    if (t.kind == 'f' && !t.x2)
        return t.bits == 64 ? PTX_ATOM_F64 : PTX_ATOM_F32;
    if (t.kind == 'h')
        return t.x2 ? PTX_ATOM_F16X2 : PTX_ATOM_F16;
    if (t.kind == 'w')
        return t.x2 ? PTX_ATOM_BF16X2 : PTX_ATOM_BF16;
    if (t.bits == 16)
        return PTX_ATOM_U16;
    if (t.bits == 32)
        return t.kind == 's' ? PTX_ATOM_S32 : PTX_ATOM_U32;
    if (t.bits == 64)
        return t.kind == 's' ? PTX_ATOM_S64 : PTX_ATOM_U64;
    ptx_refuse(d, "atomics of this type are not supported");
    return 0;
}

static void emit_atomic(struct ptx_decoder *d, int op, int type, struct ptx_memory_order order, enum ptx_space space,
                        const uint32_t *regs, bool base32, int64_t offset)
{
    struct ptx_op *o = ptx_emit_list(d, "atom", 4, regs, 1);
    o->sub = (uint16_t)op;
    o->elem = (uint8_t)type;
    o->space = (uint8_t)space;
    o->base32 = base32;
    o->imm = offset;
    o->vec = 1;
    o->order = order;
    o->strong = o->write = true;
}

// Exchange and compare-and-swap of 128 bits: result, address and values, each value as two halves.
static void atomic_128(struct ptx_decoder *d, int op, struct ptx_memory_order order, enum ptx_space space)
{
    bool base32;
    uint32_t regs[7];
    if (op != PTX_ATOM_EXCH && op != PTX_ATOM_CAS) {
        ptx_refuse(d, "atomics of this type are not supported");
        return;
    }
    int64_t offset = ptx_address(d, ptx_arg(d, 1), &space, &regs[2], &base32);
    ptx_halves(d, ptx_arg(d, 2), false, regs + 3);
    ptx_halves(d, ptx_arg(d, op == PTX_ATOM_CAS ? 3 : 2), false, regs + 5);
    ptx_halves(d, ptx_arg(d, 0), true, regs);
    struct ptx_op *o = ptx_emit_list(d, "atom128", 7, regs, 3);
    o->sub = (uint16_t)op;
    o->space = (uint8_t)space;
    o->base32 = base32;
    o->imm = offset;
    o->elem = PTX_ATOM_B128;
    o->vec = 1;
    o->order = order;
    o->order = order;
    o->strong = o->write = true;
}

static void decode_atom(struct ptx_decoder *d)
{
    static const char *const names[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"};
    bool red = !strcmp(d->root, "red"), base32;
    enum ptx_space space;
    int op = 0;
    struct ptx_memory_order order = ptx_take_memory_order(d);
    order.scope = order.scope ? order.scope : PTX_SCOPE_DEVICE;
    ptx_take_space(d, &space);
    ptx_take_cache_hints(d);
    ptx_mod(d, "noftz");
    if (!ptx_mod_any(d, names, KB_COUNT(names), &op))
        ptx_refuse(d, "its operation is not known");
    static const char *const vectors[] = {"v2", "v4", "v8"};
    int vec = 0;
    vec = ptx_mod_any(d, vectors, 3, &vec) ? 2 << vec : 1;
    struct ptx_type t = ptx_take_type(d);
    if (t.bits == 128 && !red && vec == 1) {
        atomic_128(d, op, order, space);
        return;
    }
    int type = atomic_type(d, t), bits = ptx_storage(t), at = red ? 0 : 1;
    uint32_t base;
    int64_t offset = ptx_address(d, ptx_arg(d, at), &space, &base, &base32);
    const struct ptx_operand *value = ptx_arg(d, at + 1), *to = red ? NULL : ptx_arg(d, 0);
    if (vec > 1 && (value->kind != PTX_VECTOR || value->item_count != vec || (to && to->kind != PTX_VECTOR))) {
        ptx_refuse(d, "%d data operands are expected", vec);
        return;
    }
    for (int i = 0; i < vec; i++) {
        const struct ptx_operand *result = !to ? NULL : vec > 1 ? &to->items[i] : to;
        uint32_t regs[4] = {result ? ptx_result(d, result, bits) : ptx_temp(d, bits), base,
                            ptx_source_type(d, vec > 1 ? &value->items[i] : value, t)};
        regs[3] = op == PTX_ATOM_CAS ? ptx_source_type(d, ptx_arg(d, at + 2), t) : regs[2];
        emit_atomic(d, op, type, order, space, regs, base32, offset + i * (t.x2 ? 4 : t.bits / 8));
    }
}

const struct ptx_decode_entry ptx_decode_warp[] = {
    {"shfl", decode_shfl, PTX_CLASS_SHUFFLE},
    {"vote", decode_vote, PTX_CLASS_SHUFFLE},
    {"match", decode_match, PTX_CLASS_SHUFFLE},
    {"redux", decode_redux, PTX_CLASS_SHUFFLE},
    {"activemask", decode_activemask, PTX_CLASS_SHUFFLE},
    {"elect", decode_elect, PTX_CLASS_SHUFFLE},
    {"atom", decode_atom, PTX_CLASS_ATOMIC},
    {"red", decode_atom, PTX_CLASS_ATOMIC},
    {NULL, NULL, 0},
};
