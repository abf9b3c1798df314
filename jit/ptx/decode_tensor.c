// Asynchronous copies and matrix operations.
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

static void decode_cp(struct ptx_decoder *d)
{
    if (!ptx_mod(d, "async")) {
        ptx_refuse(d, "its form is not known");
        return;
    }
    if (ptx_mod(d, "commit_group")) {
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

const struct ptx_decode_entry ptx_decode_tensor[] = {
    {"cp", decode_cp, PTX_CLASS_GLOBAL},
    {NULL, NULL, 0},
};
