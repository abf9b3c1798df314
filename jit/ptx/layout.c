// From virtual registers to places in the frame, and what a kernel needs in all.
#include "base/memory.h"
#include "jit/ptx/atomic.h"
#include "jit/ptx/clock.h"
#include "jit/ptx/decode.h"
#include "jit/ptx/lanes.h"

#include <stdlib.h>
#include <string.h>

enum { FRAME_HEADER = 64 }; // offset 0 means "none"

static uint32_t register_bytes(uint32_t bits) // of all lanes
{
    return bits == 1 ? (uint32_t)sizeof(uint32_t) : bits > 32 ? 256 : 128;
}

static uint32_t *place_registers(struct ptx_decoder *d, struct ptx_program *p)
{
    struct ptx_func *f = d->func;
    uint32_t *offset = kb_alloc((f->reg_count + 1) * sizeof *offset);
    bool *used = kb_alloc(f->reg_count + 1);
    size_t at = FRAME_HEADER;
    for (uint32_t i = 0; i < d->const_count; i++) {
        offset[d->consts[i].reg] = (uint32_t)at;
        at += d->consts[i].wide ? 256 : 128;
    }
    p->const_bytes = at - FRAME_HEADER;
    for (uint32_t i = 0; i < d->op_count; i++) {
        const struct ptx_op *o = &d->ops[i];
        for (unsigned k = 0; k < o->operand_count; k++)
            used[ptx_operand(o, k)] = true;
        if (o->guard)
            used[o->guard - 1] = true;
    }
    for (uint32_t i = 0; i < d->block_count; i++) {
        const struct ptx_block *b = &d->blocks[i];
        uint32_t regs[] = {b->member, b->pred, b->bar_number, b->bar_count, b->bar_pred, b->bar_result, b->callee};
        for (size_t k = 0; k < KB_COUNT(regs); k++)
            if (regs[k])
                used[regs[k] - 1] = true;
    }
    for (int pass = 0; pass < 2; pass++) // predicates behind all the vectors
        for (uint32_t r = 0; r < f->reg_count; r++) {
            if (!used[r] || offset[r] || (f->reg_bits[r] == 1) != (pass == 1))
                continue;
            offset[r] = (uint32_t)at;
            at += register_bytes(f->reg_bits[r]);
        }
    p->frame_bytes = at;
    free(used);
    return offset;
}

static void set_block_offsets(struct ptx_block *b, const uint32_t *offset)
{
    uint32_t *regs[] = {&b->member, &b->pred, &b->bar_number, &b->bar_count, &b->bar_pred, &b->bar_result, &b->callee};
    for (size_t k = 0; k < KB_COUNT(regs); k++)
        *regs[k] = *regs[k] ? offset[*regs[k] - 1] : 0;
}

static const uint8_t *operand_bits(struct ptx_decoder *d, const struct ptx_op *o)
{
    uint8_t *bits = ptx_arena_alloc(&d->module->arena, o->operand_count + 1u);
    for (unsigned k = 0; k < o->operand_count; k++)
        bits[k] = (uint8_t)ptx_reg_bits(d, ptx_operand(o, k));
    return bits;
}

// The register that a chain of plain moves (cvta to global is one) began with.
static uint32_t origin(const struct ptx_decoder *d, const uint32_t *moved, uint32_t reg)
{
    for (int i = 0; i < 4 && reg < d->func->reg_count && moved[reg]; i++)
        reg = moved[reg] - 1;
    return reg;
}

// What a value becomes: registers that depend on it.
struct flow {
    bool *tainted; // by register
    bool decides;  // a comparison takes it, an address, or something whose use is not known
    bool leaves;   // it gets into memory or to other lanes
};

static void follow(const struct ptx_decoder *d, const struct ptx_op *o, struct flow *f)
{
    uint64_t reads = 0;
    bool memory = o->class >= PTX_CLASS_GLOBAL && o->class <= PTX_CLASS_ATOMIC;
    for (unsigned k = 0; k < o->operand_count; k++)
        if (!(o->defs >> k & 1) && f->tainted[ptx_operand(o, k)])
            reads |= 1ull << k;
    if (!reads)
        return;
    bool address = memory && o->class != PTX_CLASS_ATOMIC && reads & 1;
    f->decides |= address || o->class == PTX_CLASS_COMPARE || o->class == PTX_CLASS_LOCAL;
    f->leaves |= memory || o->class == PTX_CLASS_SHUFFLE || o->class == PTX_CLASS_TENSOR || !o->defs;
    for (unsigned k = 0; k < o->operand_count; k++) {
        uint32_t r = ptx_operand(o, k);
        if (o->defs >> k & 1 && ptx_reg_bits(d, r) > 1)
            f->tainted[r] = true;
    }
}

static struct flow flow_of(const struct ptx_decoder *d, uint32_t reg)
{
    struct flow f = {.tainted = kb_alloc(d->func->reg_count + 1)};
    f.tainted[reg] = true;
    for (size_t before = 0, count = 1; count != before;) {
        before = count;
        for (uint32_t i = 0; i < d->op_count; i++)
            follow(d, &d->ops[i], &f);
        count = 0;
        for (uint32_t r = 0; r < d->func->reg_count; r++)
            count += f.tainted[r];
    }
    free(f.tainted);
    f.tainted = NULL;
    return f;
}

// Loads of what an atomic operation of the same address changes. The usual loop reads once with a plain load,
// `old = *p`, and then swaps until nobody came in between; `if (v > *p) atomicMax(p, v)` saves an operation.
static void mark_looks(struct ptx_decoder *d, const uint32_t *moved, const struct ptx_op *atom)
{
    ptx_handler *load = ptx_find_handler("ld");
    bool swap = atom->sub == PTX_ATOM_CAS, repeats = atom->sub == PTX_ATOM_MIN || atom->sub == PTX_ATOM_MAX ||
                                                     atom->sub == PTX_ATOM_AND || atom->sub == PTX_ATOM_OR;
    uint32_t base = origin(d, moved, atom->r[atom->elem == PTX_ATOM_B128 ? 2 : 1]);
    for (uint32_t k = 0; k < d->op_count && (swap || repeats); k++) {
        struct ptx_op *o = &d->ops[k];
        if (o->run != load || o->imm != atom->imm || origin(d, moved, o->r[0]) != base)
            continue;
        if (swap)
            o->guess = true;
        else if (o->vec == 1)
            o->look = !flow_of(d, o->r[1]).leaves;
    }
}

static void mark_loads(struct ptx_decoder *d)
{
    uint32_t *moved = kb_alloc((d->func->reg_count + 1) * sizeof *moved);
    ptx_handler *move = ptx_find_handler("mov_b64"), *load = ptx_find_handler("ld");
    for (uint32_t k = 0; k < d->op_count; k++)
        if (d->ops[k].run == move)
            moved[d->ops[k].r[0]] = d->ops[k].r[1] + 1;
    for (uint32_t i = 0; i < d->op_count; i++) {
        struct ptx_op *o = &d->ops[i];
        if (o->class == PTX_CLASS_ATOMIC && o->operand_count)
            mark_looks(d, moved, o);
        if (o->run == load && o->vec == 1 && o->order.scope != PTX_WEAK && !o->order.acquires)
            o->data = !flow_of(d, o->r[1]).decides;
    }
    free(moved);
}

static bool own_values(const struct ptx_op *o) // what it gives depends on its operands alone
{
    return o->class <= PTX_CLASS_COMPARE || o->class == PTX_CLASS_CONST || o->class == PTX_CLASS_SHUFFLE;
}

// Whether where the warp goes on depends on o, given the registers that it depends on.
static bool steers(const struct ptx_op *o, const bool *reg)
{
    bool memory = o->class >= PTX_CLASS_GLOBAL && o->class <= PTX_CLASS_ATOMIC;
    if (!o->defs)
        return !memory;
    for (unsigned k = 0; k < o->operand_count; k++)
        if (o->defs >> k & 1 && reg[ptx_operand(o, k)])
            return true;
    return false;
}

static bool mark(bool *reg, uint32_t r)
{
    bool fresh = !reg[r];
    reg[r] = true;
    return fresh;
}

// The registers that decide where a warp goes on: of branches and barriers, and all that these were computed from. An
// address is none of them: it may end the launch, which is no way to go on.
static void find_steering(const struct ptx_decoder *d, struct ptx_program *p, const uint32_t *offset)
{
    bool *reg = kb_alloc(d->func->reg_count + 1);
    for (uint32_t i = 0; i < d->block_count; i++) {
        const struct ptx_block *b = &d->blocks[i];
        uint32_t regs[] = {b->member, b->pred, b->bar_number, b->bar_count, b->bar_pred, b->callee};
        for (size_t k = 0; k < KB_COUNT(regs); k++)
            if (regs[k])
                reg[regs[k] - 1] = true;
    }
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = d->op_count; i-- > 0;) {
            const struct ptx_op *o = &d->ops[i];
            if (!steers(o, reg))
                continue;
            p->memory_steers |= o->defs && !own_values(o);
            more |= o->guard && mark(reg, o->guard - 1);
            for (unsigned k = 0; k < o->operand_count; k++)
                if (!(o->defs >> k & 1))
                    more |= mark(reg, ptx_operand(o, k));
        }
    }
    for (uint32_t i = 0; i < d->block_count; i++)
        p->memory_steers |= d->blocks[i].bar_result && reg[d->blocks[i].bar_result - 1];
    p->steering = ptx_arena_alloc(&d->module->arena, (d->func->reg_count + 1) * sizeof *p->steering);
    for (uint32_t r = 0; r < d->func->reg_count; r++)
        if (reg[r] && offset[r])
            p->steering[p->steering_count++] = (struct ptx_range){offset[r], register_bytes(d->func->reg_bits[r])};
    free(reg);
}

void ptx_layout(struct ptx_decoder *d, struct ptx_program *p)
{
    mark_loads(d);
    struct ptx_arena *arena = &d->module->arena;
    uint32_t *offset = place_registers(d, p);
    find_steering(d, p, offset);
    for (uint32_t i = 0; i < d->block_count; i++)
        if (d->blocks[i].sync)
            d->blocks[i].operand_bits = operand_bits(d, &d->ops[d->blocks[i].first]);
    for (uint32_t i = 0; i < d->op_count; i++) {
        struct ptx_op *o = &d->ops[i];
        for (unsigned k = 0; k < o->operand_count; k++) {
            uint32_t *r = k < 4 ? &o->r[k] : &o->more[k - 4];
            *r = offset[*r];
        }
        o->guard = o->guard ? offset[o->guard - 1] : 0;
    }
    for (uint32_t i = 0; i < d->block_count; i++) {
        struct ptx_block *b = &d->blocks[i];
        set_block_offsets(b, offset);
        b->cycles = ptx_block_cycles(d->ops + b->first, b->count) + (b->term == PTX_TERM_NEXT ? 0 : 9);
    }
    p->op_count = d->op_count;
    p->ops = ptx_arena_alloc(arena, (d->op_count + 1) * sizeof *p->ops);
    if (d->op_count)
        memcpy(p->ops, d->ops, d->op_count * sizeof *p->ops);
    p->ops[d->op_count].name = "the end"; // a block without operations points here at most
    p->block_count = d->block_count;
    p->blocks = ptx_arena_alloc(arena, d->block_count * sizeof *p->blocks);
    memcpy(p->blocks, d->blocks, d->block_count * sizeof *p->blocks);
    p->const_count = d->const_count;
    p->consts = ptx_arena_alloc(arena, (d->const_count + 1) * sizeof *p->consts);
    for (uint32_t i = 0; i < d->const_count; i++) {
        p->consts[i] = d->consts[i];
        p->consts[i].reg = offset[d->consts[i].reg];
    }
    p->calls_indirect = d->calls_indirect;
    free(offset);
}

// Walks the functions that f may call. visit returns false to stop.
struct walk {
    const struct ptx_module *module;
    const struct ptx_func *seen[512];
    int count;
};

static bool was_seen(const struct walk *w, const struct ptx_func *f)
{
    for (int i = 0; i < w->count; i++)
        if (w->seen[i] == f)
            return true;
    return w->count == (int)KB_COUNT(w->seen);
}

static void walk_calls(struct walk *w, const struct ptx_func *f)
{
    if (was_seen(w, f))
        return;
    w->seen[w->count++] = f;
    for (uint32_t i = 0; i < f->inst_count; i++)
        for (int k = 0; k < f->insts[i].operand_count; k++) {
            const struct ptx_operand *o = &f->insts[i].operands[k];
            if (o->kind == PTX_SYMBOL && o->func && !o->func->is_extern)
                walk_calls(w, o->func);
        }
    if (f->program && f->program->calls_indirect)
        for (const struct ptx_func *g = w->module->funcs; g; g = g->next)
            if (!g->is_entry && !g->is_extern)
                walk_calls(w, g);
}

const struct kb_error *ptx_refusal(const struct ptx_func *f)
{
    return f->program ? NULL : &f->refused;
}

static bool uses_operand(const struct ptx_operand *o, const struct ptx_var *v)
{
    if (o->var == v)
        return true;
    for (int i = 0; i < o->item_count; i++)
        if (uses_operand(&o->items[i], v))
            return true;
    return false;
}

bool ptx_uses_var(const struct ptx_module *m, const struct ptx_func *f, const struct ptx_var *v)
{
    struct walk w = {.module = m};
    walk_calls(&w, f);
    for (int c = 0; c < w.count; c++) {
        for (const struct ptx_var *l = w.seen[c]->locals; l; l = l->next)
            if (l == v)
                return true;
        for (uint32_t i = 0; i < w.seen[c]->inst_count; i++)
            for (int k = 0; k < w.seen[c]->insts[i].operand_count; k++)
                if (uses_operand(&w.seen[c]->insts[i].operands[k], v))
                    return true;
    }
    return false;
}

static bool is_reserved(const struct ptx_operand *o)
{
    return o->kind == PTX_SPECIAL && !strncmp(o->name, "%reserved_smem_", 15);
}

bool ptx_uses_reserved(const struct ptx_module *m, const struct ptx_func *f)
{
    struct walk w = {.module = m};
    walk_calls(&w, f);
    for (int c = 0; c < w.count; c++)
        for (uint32_t i = 0; i < w.seen[c]->inst_count; i++)
            for (int k = 0; k < w.seen[c]->insts[i].operand_count; k++)
                if (is_reserved(&w.seen[c]->insts[i].operands[k]))
                    return true;
    return false;
}

// The deepest sum of frames, or of one frame of each function if calls form a circle or are indirect.
static size_t deepest(const struct ptx_func *f, int depth, bool *recursive)
{
    const struct ptx_program *p = f->program;
    if (!p || depth > 32 || p->calls_indirect) {
        *recursive = p != NULL;
        return p ? p->local_bytes : 0;
    }
    size_t most = 0;
    bool calls = false;
    for (uint32_t i = 0; i < p->block_count && !*recursive; i++) {
        const struct ptx_block *b = &p->blocks[i];
        if (b->term != PTX_TERM_CALL)
            continue;
        size_t below = deepest(b->call->func, depth + 1, recursive);
        most = below > most ? below : most;
        calls = true;
    }
    return calls ? PTX_FRAME_BYTES(p->local_bytes) + most : p->local_bytes;
}

size_t ptx_stack_bytes(const struct ptx_module *m, const struct ptx_func *f, bool *recursive)
{
    (void)m;
    *recursive = false;
    return deepest(f, 0, recursive);
}
