// Asynchronous copies and the barriers in shared memory that go with them.
#include "base/memory.h"
#include "jit/ptx/decode.h"

#include <stdio.h>
#include <string.h>

static void async_copy(struct ptx_decoder *d)
{
    enum ptx_space space = PTX_SPACE_SHARED;
    bool base32, ignored;
    static const char *const hints[] = {"shared", "shared::cta", "global", "ca", "cg"};
    int which;
    while (ptx_mod_any(d, hints, KB_COUNT(hints), &which))
        continue;
    ptx_take_cache_hints(d);
    uint32_t regs[4];
    const struct ptx_operand *size = ptx_arg(d, 2);
    if (size->kind != PTX_INT || (size->bits != 4 && size->bits != 8 && size->bits != 16)) {
        ptx_refuse(d, "its size is not 4, 8 or 16");
        return;
    }
    int64_t to = ptx_address(d, ptx_arg(d, 0), &space, &regs[0], &base32);
    space = PTX_SPACE_GLOBAL;
    int64_t from = ptx_address(d, ptx_arg(d, 1), &space, &regs[1], &ignored);
    regs[2] = ptx_constant(d, size->bits, 32);
    if (d->in->operand_count > 3) {
        const struct ptx_operand *o = ptx_arg(d, 3);
        bool predicate = o->kind == PTX_REG && ptx_reg_bits(d, (uint32_t)o->reg) == 1;
        if (predicate) { // ignore-src: copies zeros where it holds
            regs[2] = ptx_temp(d, 32);
            ptx_emit(d, "selp_b32", 4, regs[2], ptx_constant(d, 0, 32), ptx_constant(d, size->bits, 32),
                     ptx_predicate(d, o));
        } else if (!(o->kind == PTX_REG && ptx_reg_bits(d, (uint32_t)o->reg) == 64)) { // that is a cache policy
            regs[2] = ptx_source(d, o, 32);
        }
    }
    d->class = PTX_CLASS_GLOBAL;
    struct ptx_op *o = ptx_emit_list(d, "async_copy", 3, regs, 0);
    o->sub = (uint16_t)size->bits;
    o->imm = to;
    o->imm2 = from;
    o->base32 = base32;
    o->space = PTX_SPACE_GLOBAL;
    o->elem = PTX_B32;
    o->vec = (uint8_t)(size->bits / 4);
    d->class = PTX_CLASS_SHARED;
    o = ptx_emit(d, "nop", 0); // carries the counts of the shared side
    o->space = PTX_SPACE_SHARED;
    o->write = true;
    o->elem = PTX_B32;
    o->vec = (uint8_t)(size->bits / 4);
}

// Operands of the mbarrier family: address first, then counts or states.
static struct ptx_op *mbarrier_op(struct ptx_decoder *d, const char *key, const uint32_t *regs, int n, uint64_t defs,
                                  enum ptx_space space, bool base32, int64_t offset)
{
    struct ptx_op *o = ptx_emit_list(d, key, n, regs, defs);
    o->space = (uint8_t)space;
    o->base32 = base32;
    o->imm = offset;
    o->strong = o->write = true;
    return o;
}

static void decode_mbarrier(struct ptx_decoder *d)
{
    static const char *const verbs[] = {"init",     "inval",         "arrive",    "arrive_drop", "test_wait",
                                        "try_wait", "pending_count", "expect_tx", "complete_tx"};
    int verb = -1, n = d->in->operand_count;
    bool base32;
    enum ptx_space space = PTX_SPACE_SHARED;
    ptx_mod_any(d, verbs, KB_COUNT(verbs), &verb);
    struct ptx_memory_order order = ptx_take_memory_order(d);
    bool relaxed = order.scope != PTX_WEAK && !order.acquires && !order.releases;
    ptx_take_space(d, &space);
    bool parity = ptx_mod(d, "parity"), expect = (verb == 2 || verb == 3) && ptx_mod(d, "expect_tx");
    ptx_mod(d, "noComplete");
    ptx_mod(d, "b64");
    if (verb < 0 || verb == 6) {
        ptx_refuse(d, "its form is not known");
        return;
    }
    uint32_t regs[4] = {0};
    if (verb > 6) {
        int64_t at = ptx_address(d, ptx_arg(d, 0), &space, &regs[1], &base32);
        regs[2] = ptx_source(d, ptx_arg(d, 1), 32);
        regs[0] = ptx_temp(d, 32);
        mbarrier_op(d, "mbarrier_bytes", regs, 3, 1, space, base32, at)->sub = verb == 7;
        return;
    }
    bool first = verb == 2 || verb == 3 || verb >= 4; // a result comes first
    bool no_result = (verb == 2 || verb == 3) && ptx_arg(d, 0)->kind == PTX_ADDRESS;
    int at = first && !no_result ? 1 : 0;
    int64_t offset = ptx_address(d, ptx_arg(d, at), &space, &regs[1], &base32);
    if (verb <= 1) {
        regs[2] = verb ? ptx_constant(d, 0, 32) : ptx_source(d, ptx_arg(d, 1), 32);
        regs[0] = ptx_temp(d, 32);
        mbarrier_op(d, verb ? "mbarrier_inval" : "mbarrier_init", regs, 3, 1, space, base32, offset);
    } else if (verb <= 3) {
        regs[0] = no_result ? ptx_temp(d, 64) : ptx_result(d, ptx_arg(d, 0), 64);
        uint32_t value = n > at + 1 ? ptx_source(d, ptx_arg(d, at + 1), 32) : ptx_constant(d, 1, 32);
        regs[2] = expect ? ptx_constant(d, 1, 32) : value;
        regs[3] = expect ? value : ptx_constant(d, 0, 32);
        struct ptx_op *o = mbarrier_op(d, "mbarrier_arrive", regs, 4, 1, space, base32, offset);
        o->sub = verb == 3;
        o->order.releases = !relaxed;
    } else {
        regs[0] = ptx_result(d, ptx_arg(d, 0), 1);
        regs[2] = ptx_source(d, ptx_arg(d, 2), parity ? 32 : 64);
        mbarrier_op(d, parity ? "mbarrier_parity" : "mbarrier_state", regs, 3, 1, space, base32, offset)
            ->order.acquires = !relaxed;
    }
}

static void async_arrive(struct ptx_decoder *d)
{
    bool base32;
    enum ptx_space space = PTX_SPACE_SHARED;
    ptx_mod(d, "arrive");
    bool noinc = ptx_mod(d, "noinc");
    ptx_take_space(d, &space);
    ptx_mod(d, "b64");
    uint32_t regs[2];
    regs[0] = ptx_temp(d, 32);
    int64_t offset = ptx_address(d, ptx_arg(d, 0), &space, &regs[1], &base32);
    mbarrier_op(d, "mbarrier_async", regs, 2, 1, space, base32, offset)->sub = noinc;
}

// An address operand as one 64-bit register.
static uint32_t whole_address(struct ptx_decoder *d, const struct ptx_operand *o, enum ptx_space space)
{
    bool base32;
    uint32_t base, sum = ptx_temp(d, 64);
    int64_t offset = ptx_address(d, o, &space, &base, &base32);
    if (base32)
        base = ptx_emit_to(d, "zext_b64", 64, base);
    ptx_emit(d, "add_b64", 3, sum, base, ptx_constant(d, (uint64_t)offset, 64));
    return sum;
}

static void bulk_copy(struct ptx_decoder *d)
{
    bool group = ptx_mod(d, "bulk_group");
    static const char *const spaces[] = {"global", "shared::cta", "shared::cluster"};
    int from = 0, to = -1, cached;
    for (int i = 0; i < d->mods; i++) // the destination is named first
        for (int k = 0; k < 3 && !d->used[i]; k++)
            if (!strcmp(d->mod[i], spaces[k])) {
                d->used[i] = true;
                from = to < 0 ? from : k;
                to = to < 0 ? k : to;
            }
    static const char *const hints[] = {"mbarrier::complete_tx::bytes", "L2::cache_hint"};
    while (ptx_mod_any(d, hints, KB_COUNT(hints), &cached))
        continue;
    if (to < 0 || (to != 0 && from != 0) || group != (to == 0) || (to == 0 && from == 0)) {
        ptx_refuse(d, "only copies between global memory and the block's own shared memory are supported");
        return;
    }
    const struct ptx_operand *shared = ptx_arg(d, to ? 0 : 1), *global = ptx_arg(d, to ? 1 : 0);
    uint32_t regs[4] = {whole_address(d, shared, PTX_SPACE_SHARED), whole_address(d, global, PTX_SPACE_GLOBAL),
                        ptx_source(d, ptx_arg(d, 2), 32)};
    regs[3] = to ? whole_address(d, ptx_arg(d, 3), PTX_SPACE_SHARED) : ptx_constant(d, 0, 64);
    d->class = PTX_CLASS_GLOBAL;
    struct ptx_op *o = ptx_emit_list(d, "bulk_copy", 4, regs, 0);
    o->sub = to != 0;
    o->space = PTX_SPACE_GLOBAL;
    o->write = to == 0;
    d->class = PTX_CLASS_SHARED;
    o = ptx_emit(d, "nop", 0); // carries the counts of the shared side
    o->space = PTX_SPACE_SHARED;
    o->write = to != 0;
}

static void decode_bulk(struct ptx_decoder *d)
{
    if (ptx_mod(d, "commit_group")) {
        ptx_emit(d, "bulk_commit", 0);
    } else if (ptx_mod(d, "wait_group")) {
        ptx_mod(d, "read");
        const struct ptx_operand *n = ptx_arg(d, 0);
        if (n->kind != PTX_INT)
            ptx_refuse(d, "its number of groups is no constant");
        ptx_emit(d, "bulk_wait", 0)->imm = (int64_t)n->bits;
    } else if (ptx_mod(d, "prefetch")) {
        for (int i = 0; i < d->mods; i++)
            d->used[i] = true;
        ptx_emit(d, "nop", 0);
    } else {
        bulk_copy(d);
    }
}

static void decode_cp(struct ptx_decoder *d)
{
    if (!ptx_mod(d, "async")) {
        ptx_refuse(d, "its form is not known");
        return;
    }
    if (ptx_mod(d, "bulk")) {
        decode_bulk(d);
    } else if (ptx_mod(d, "mbarrier")) {
        d->class = PTX_CLASS_BARRIER;
        async_arrive(d);
    } else if (ptx_mod(d, "commit_group")) {
        ptx_emit(d, "async_commit", 0);
    } else if (ptx_mod(d, "wait_all")) {
        ptx_emit(d, "async_wait", 0)->imm = -1;
    } else if (ptx_mod(d, "wait_group")) {
        const struct ptx_operand *n = ptx_arg(d, 0);
        if (n->kind != PTX_INT)
            ptx_refuse(d, "its number of groups is no constant");
        ptx_emit(d, "async_wait", 0)->imm = (int64_t)n->bits;
    } else {
        async_copy(d);
    }
}

const struct ptx_decode_entry ptx_decode_async[] = {
    {"mbarrier", decode_mbarrier, PTX_CLASS_BARRIER},
    {"cp", decode_cp, PTX_CLASS_GLOBAL},
    {NULL, NULL, 0},
};
