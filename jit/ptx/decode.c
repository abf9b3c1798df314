#include "jit/ptx/decode.h"

#include "base/memory.h"
#include "jit/ptx/lanes.h"
#include "jit/ptx/numbers.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const ptx_class_names[PTX_CLASSES] = {
    [PTX_CLASS_INTEGER] = "integer", [PTX_CLASS_F32] = "f32",         [PTX_CLASS_F64] = "f64",
    [PTX_CLASS_F16] = "f16",         [PTX_CLASS_SPECIAL] = "special", [PTX_CLASS_CONVERT] = "convert",
    [PTX_CLASS_MOVE] = "move",       [PTX_CLASS_COMPARE] = "compare", [PTX_CLASS_GLOBAL] = "global",
    [PTX_CLASS_SHARED] = "shared",   [PTX_CLASS_LOCAL] = "local",     [PTX_CLASS_CONST] = "const",
    [PTX_CLASS_GENERIC] = "generic", [PTX_CLASS_ATOMIC] = "atomic",   [PTX_CLASS_TENSOR] = "tensor",
    [PTX_CLASS_SHUFFLE] = "shuffle", [PTX_CLASS_BARRIER] = "barrier", [PTX_CLASS_CONTROL] = "control",
};

void ptx_refuse(struct ptx_decoder *d, const char *format, ...)
{
    if (d->refused)
        return;
    d->refused = true;
    char why[256];
    va_list list;
    va_start(list, format);
    vsnprintf(why, sizeof why, format, list);
    va_end(list);
    struct ptx_place place = ptx_place_of(d->module, d->in ? d->in->loc : 0);
    char on[320], at[32] = "";
    int line = d->in ? d->in->text_line : d->func->text_line;
    if (place.line) {
        snprintf(on, sizeof on, "%s", ptx_place_text(place));
        snprintf(at, sizeof at, "PTX line %d, ", line);
    } else {
        snprintf(on, sizeof on, "PTX line %d", line);
    }
    if (d->in)
        kb_fail(&d->func->refused, on,
                "run this kernel on a GPU, or write it without this instruction for the CPU device",
                "the CPU device does not run '%s' (%sin %s): %s", d->in->op, at, d->func->name, why);
    else
        kb_fail(&d->func->refused, on, "run this kernel on a GPU", "the CPU device does not run %s: %s", d->func->name,
                why);
}

bool ptx_mod(struct ptx_decoder *d, const char *name)
{
    for (int i = 0; i < d->mods; i++)
        if (!d->used[i] && !strcmp(d->mod[i], name))
            return d->used[i] = true;
    return false;
}

bool ptx_mod_any(struct ptx_decoder *d, const char *const *names, size_t n, int *which)
{
    for (int i = 0; i < d->mods; i++)
        for (size_t k = 0; k < n && !d->used[i]; k++)
            if (!strcmp(d->mod[i], names[k])) {
                *which = (int)k;
                return d->used[i] = true;
            }
    return false;
}

bool ptx_parse_type(const char *name, struct ptx_type *t)
{
    static const struct {
        const char *name;
        struct ptx_type type;
    } table[] = {
        {"u8", {'u', 8, false}},     {"u16", {'u', 16, false}},  {"u32", {'u', 32, false}},
        {"u64", {'u', 64, false}},   {"s8", {'s', 8, false}},    {"s16", {'s', 16, false}},
        {"s32", {'s', 32, false}},   {"s64", {'s', 64, false}},  {"b8", {'b', 8, false}},
        {"b16", {'b', 16, false}},   {"b32", {'b', 32, false}},  {"b64", {'b', 64, false}},
        {"b128", {'b', 128, false}}, {"f32", {'f', 32, false}},  {"f64", {'f', 64, false}},
        {"f16", {'h', 16, false}},   {"f16x2", {'h', 16, true}}, {"bf16", {'w', 16, false}},
        {"bf16x2", {'w', 16, true}}, {"tf32", {'t', 32, false}}, {"e4m3x2", {'4', 8, true}},
        {"e5m2x2", {'5', 8, true}},  {"pred", {'p', 1, false}},  {"u16x2", {'u', 16, true}},
        {"s16x2", {'s', 16, true}},  {"e4m3", {'4', 8, false}},  {"e5m2", {'5', 8, false}},
        {"f32x2", {'f', 32, true}},
    };
    for (size_t i = 0; i < KB_COUNT(table); i++)
        if (!strcmp(name, table[i].name)) {
            *t = table[i].type;
            return true;
        }
    return false;
}

struct ptx_type ptx_take_type(struct ptx_decoder *d)
{
    struct ptx_type t = {'b', 32, false};
    for (int i = 0; i < d->mods; i++)
        if (!d->used[i] && ptx_parse_type(d->mod[i], &t)) {
            d->used[i] = true;
            return t;
        }
    ptx_refuse(d, "it has no known type");
    return t;
}

int ptx_rounding(struct ptx_decoder *d)
{
    static const char *const names[] = {"rn", "rz", "rm", "rp", "rna"};
    int which = PTX_RN;
    ptx_mod_any(d, names, KB_COUNT(names), &which);
    return which;
}

const struct ptx_operand *ptx_arg(struct ptx_decoder *d, int n)
{
    static const struct ptx_operand none = {.kind = PTX_SINK};
    if (n < d->in->operand_count)
        return &d->in->operands[n];
    ptx_refuse(d, "it has %d operands, %d expected", d->in->operand_count, n + 1);
    return &none;
}

uint32_t ptx_temp(struct ptx_decoder *d, int bits)
{
    struct ptx_func *f = d->func;
    KB_GROW(f->reg_bits, f->reg_count, f->reg_cap);
    f->reg_bits[f->reg_count] = (uint8_t)bits;
    return f->reg_count++;
}

int ptx_storage(struct ptx_type t)
{
    int bits = t.x2 ? t.bits * 2 : t.bits;
    return bits == 1 ? 1 : bits <= 32 ? 32 : 64;
}

int ptx_reg_bits(const struct ptx_decoder *d, uint32_t reg)
{
    int bits = d->func->reg_bits[reg];
    return bits == 1 ? 1 : bits <= 32 ? 32 : bits;
}

uint32_t ptx_constant(struct ptx_decoder *d, uint64_t bits, int width)
{
    bool wide = width > 32;
    if (!wide)
        bits = (uint32_t)bits;
    for (uint32_t i = 0; i < d->const_count; i++)
        if (d->consts[i].bits == bits && d->consts[i].wide == wide)
            return d->consts[i].reg;
    uint32_t reg = ptx_temp(d, wide ? 64 : 32);
    KB_GROW(d->consts, d->const_count, d->const_cap);
    d->consts[d->const_count++] = (struct ptx_const){.reg = reg, .wide = wide, .bits = bits};
    return reg;
}

struct ptx_op *ptx_emit_list(struct ptx_decoder *d, const char *key, int n, const uint32_t *regs, uint64_t defs)
{
    KB_GROW(d->ops, d->op_count, d->op_cap);
    struct ptx_op *o = &d->ops[d->op_count++];
    *o = (struct ptx_op){.run = ptx_find_handler(key), .class = d->class, .loc = d->in->loc, .defs = defs};
    o->operand_count = (uint16_t)n;
    o->name = d->in->op;
    o->counted = d->counted;
    d->counted = false;
    if (d->in->guard >= 0) {
        o->guard = (uint32_t)d->in->guard + 1;
        o->guard_flip = d->in->guard_not ? ~0u : 0;
    }
    if (n > 4)
        o->more = ptx_arena_alloc(&d->module->arena, (size_t)(n - 4) * sizeof *o->more);
    for (int i = 0; i < n; i++)
        *(i < 4 ? &o->r[i] : &o->more[i - 4]) = regs[i];
    if (!o->run)
        ptx_refuse(d, "there is no operation '%s' for it", key);
    return o;
}

struct ptx_op *ptx_emit(struct ptx_decoder *d, const char *key, int n, ...)
{
    uint32_t regs[8];
    va_list list;
    va_start(list, n);
    for (int i = 0; i < n; i++)
        regs[i] = va_arg(list, uint32_t);
    va_end(list);
    return ptx_emit_list(d, key, n, regs, 1);
}

uint32_t ptx_emit_to(struct ptx_decoder *d, const char *key, int bits, uint32_t a)
{
    uint32_t t = ptx_temp(d, bits);
    ptx_emit(d, key, 2, t, a);
    return t;
}

static uint32_t special_register(struct ptx_decoder *d, const struct ptx_operand *o, int bits)
{
    enum { AXES = 8 }; // the first so many have .x, .y and .z
    static const struct {
        const char *name;
        int bits;
    } table[] = {
        {"tid", 32},
        {"ntid", 32},
        {"ctaid", 32},
        {"nctaid", 32},
        {"clusterid", 32},
        {"nclusterid", 32},
        {"cluster_ctaid", 32},
        {"cluster_nctaid", 32},
        {"laneid", 32},
        {"warpid", 32},
        {"nwarpid", 32},
        {"smid", 32},
        {"nsmid", 32},
        {"gridid", 64},
        {"lanemask_eq", 32},
        {"lanemask_le", 32},
        {"lanemask_lt", 32},
        {"lanemask_ge", 32},
        {"lanemask_gt", 32},
        {"clock", 32},
        {"clock_hi", 32},
        {"clock64", 64},
        {"globaltimer", 64},
        {"globaltimer_lo", 32},
        {"globaltimer_hi", 32},
        {"envreg1", 32},
        {"envreg2", 32},
        {"total_smem_size", 32},
        {"dynamic_smem_size", 32},
        {"aggr_smem_size", 32},
        {"cluster_ctarank", 32},
        {"cluster_nctarank", 32},
        {"reserved_smem_offset_begin", 32},
        {"reserved_smem_offset_end", 32},
        {"reserved_smem_offset_cap", 32},
        {"reserved_smem_offset_0", 32},
        {"reserved_smem_offset_1", 32},
    };
    char name[40];
    snprintf(name, sizeof name, "%s", o->name + 1);
    char *dot = strchr(name, '.');
    int axis = dot && dot[1] >= 'x' && dot[1] <= 'z' && !dot[2] ? dot[1] - 'x' : -1;
    if (dot)
        *dot = 0;
    for (size_t i = 0; i < KB_COUNT(table); i++) {
        if (strcmp(table[i].name, name) || (i < AXES) != (axis >= 0))
            continue;
        char key[64];
        snprintf(key, sizeof key, "sreg_%s", name);
        uint32_t t = ptx_temp(d, table[i].bits);
        ptx_emit(d, key, 1, t)->sub = (uint16_t)(axis < 0 ? 0 : axis);
        if (table[i].bits == bits)
            return t;
        return ptx_emit_to(d, bits == 64 ? "zext_b64" : "trunc_b32", bits, t);
    }
    ptx_refuse(d, "the special register %s is not known", o->name);
    return ptx_temp(d, bits);
}

// The address that `mov r, symbol` gives: for shared an offset, for local one relative to the call's frame.
static uint32_t symbol_address(struct ptx_decoder *d, const struct ptx_operand *o, int bits)
{
    if (o->func)
        return ptx_constant(d, (uint64_t)o->func, bits);
    const struct ptx_var *v = o->var;
    if (v->space == PTX_SPACE_LOCAL || (v->space == PTX_SPACE_PARAM && !d->func->is_entry)) {
        uint32_t t = ptx_temp(d, bits);
        ptx_emit(d, bits == 64 ? "local_b64" : "local_b32", 1, t)->imm = (int64_t)(v->place + o->bits);
        return t;
    }
    if (v->space == PTX_SPACE_PARAM) {
        for (const struct ptx_var *p = d->func->params; p; p = p->next)
            if (p == v)
                return ptx_constant(d, v->place + o->bits, bits);
        uint32_t t = ptx_temp(d, bits); // a .param of a call inside an entry
        ptx_emit(d, bits == 64 ? "local_b64" : "local_b32", 1, t)->imm = (int64_t)(v->place + o->bits);
        return t;
    }
    return ptx_constant(d, v->place + o->bits, bits);
}

uint32_t ptx_source(struct ptx_decoder *d, const struct ptx_operand *o, int bits)
{
    switch (o->kind) {
    case PTX_REG: {
        int have = ptx_reg_bits(d, (uint32_t)o->reg);
        if (have == bits)
            return (uint32_t)o->reg;
        if (have == 32 && bits == 64)
            return ptx_emit_to(d, "zext_b64", 64, (uint32_t)o->reg);
        if (have == 64 && bits == 32)
            return ptx_emit_to(d, "trunc_b32", 32, (uint32_t)o->reg);
        ptx_refuse(d, "an operand has %d bits where %d are expected", have, bits);
        return ptx_temp(d, bits);
    }
    case PTX_INT:
    case PTX_F32:
    case PTX_F64:
        return ptx_constant(d, o->bits, bits);
    case PTX_SPECIAL:
        return special_register(d, o, bits);
    case PTX_SYMBOL:
        return symbol_address(d, o, bits);
    case PTX_VECTOR: {
        uint32_t t = ptx_temp(d, bits), regs[5] = {t};
        int n = o->item_count, part = n ? bits / n : 0;
        if ((n != 2 && n != 4) || part < 8) {
            ptx_refuse(d, "an operand list of %d elements stands for %d bits", n, bits);
            return t;
        }
        for (int i = 0; i < n; i++)
            regs[i + 1] = ptx_source(d, &o->items[i], part > 32 ? 64 : 32);
        char key[24];
        snprintf(key, sizeof key, "pack%d_b%d", n, bits);
        ptx_emit_list(d, key, n + 1, regs, 1);
        return t;
    }
    default:
        ptx_refuse(d, "an operand of an unexpected form%s%s", o->name ? ": " : "", o->name ? o->name : "");
        return ptx_temp(d, bits);
    }
}

uint32_t ptx_source_type(struct ptx_decoder *d, const struct ptx_operand *o, struct ptx_type t)
{
    int bits = ptx_storage(t);
    if (o->kind == PTX_F64 && t.kind == 'f' && t.bits == 32)
        return ptx_constant(d, bits_f32((float)f64_bits(o->bits)), 32);
    if (o->kind == PTX_F32 && t.kind == 'f' && t.bits == 64)
        return ptx_constant(d, bits_f64((double)f32_bits((uint32_t)o->bits)), 64);
    if (o->kind == PTX_INT && t.kind != 'f' && t.bits < 32 && !t.x2)
        return ptx_constant(d, o->bits & ((1u << t.bits) - 1), 32);
    return ptx_source(d, o, bits);
}

uint32_t ptx_predicate(struct ptx_decoder *d, const struct ptx_operand *o)
{
    if (o->kind == PTX_INT) { // 0 or 1 for false and true
        bool value = (o->bits != 0) != o->negated;
        uint32_t t = ptx_temp(d, 1);
        ptx_emit(d, "pset", 1, t)->imm = value ? -1 : 0;
        return t;
    }
    if (o->kind != PTX_REG || ptx_reg_bits(d, (uint32_t)o->reg) != 1) {
        ptx_refuse(d, "a predicate is expected");
        return ptx_temp(d, 1);
    }
    return o->negated ? ptx_emit_to(d, "pnot", 1, (uint32_t)o->reg) : (uint32_t)o->reg;
}

uint32_t ptx_result(struct ptx_decoder *d, const struct ptx_operand *o, int bits)
{
    if (o->kind == PTX_SINK)
        return ptx_temp(d, bits);
    if (o->kind == PTX_REG && ptx_reg_bits(d, (uint32_t)o->reg) == bits)
        return (uint32_t)o->reg;
    ptx_refuse(d, "the result is no register of %d bits", bits);
    return ptx_temp(d, bits);
}

void ptx_halves(struct ptx_decoder *d, const struct ptx_operand *o, bool result, uint32_t half[2])
{
    half[0] = half[1] = 0;
    if (o->kind == PTX_VECTOR && o->item_count == 2) {
        for (int i = 0; i < 2; i++)
            half[i] = result ? ptx_result(d, &o->items[i], 64) : ptx_source(d, &o->items[i], 64);
        return;
    }
    if (o->kind == PTX_SINK && result) {
        half[0] = ptx_temp(d, 64);
        half[1] = ptx_temp(d, 64);
        return;
    }
    if (o->kind != PTX_REG || d->func->reg_bits[o->reg] != 128) {
        ptx_refuse(d, "a register of 128 bits is expected");
        half[0] = half[1] = ptx_temp(d, 64);
        return;
    }
    if (!d->halves) { // later registers are temporaries, none of them so wide
        d->halves_count = d->func->reg_count;
        d->halves = kb_alloc(d->halves_count * sizeof *d->halves);
    }
    for (int i = 0; i < 2; i++) {
        if (!d->halves[o->reg][i])
            d->halves[o->reg][i] = ptx_temp(d, 64) + 1;
        half[i] = d->halves[o->reg][i] - 1;
    }
}

struct ptx_block *ptx_current_block(struct ptx_decoder *d)
{
    return &d->blocks[d->block_count - 1];
}

static void new_block(struct ptx_decoder *d)
{
    KB_GROW(d->blocks, d->block_count, d->block_cap);
    struct ptx_block *b = &d->blocks[d->block_count];
    *b = (struct ptx_block){.first = d->op_count, .index = d->block_count, .term = PTX_TERM_NEXT};
    d->block_count++;
}

struct ptx_block *ptx_end_block(struct ptx_decoder *d, enum ptx_term term)
{
    uint32_t i = d->block_count - 1;
    struct ptx_block *b = &d->blocks[i];
    b->count = d->op_count - b->first;
    b->term = (uint8_t)term;
    if (term != PTX_TERM_NEXT) {
        b->term_counted = d->counted;
        b->term_class = d->class;
        b->term_loc = d->in ? d->in->loc : 0;
        b->term_name = d->in ? d->in->op : "ret";
        d->counted = false;
    }
    new_block(d);
    return &d->blocks[i];
}

// The branch goes to the instruction behind this one, which therefore begins a block.
void ptx_guard_control(struct ptx_decoder *d)
{
    if (d->in->guard < 0)
        return;
    bool counted = d->counted;
    d->counted = false;
    struct ptx_block *b = ptx_end_block(d, PTX_TERM_BRANCH);
    d->counted = counted;
    b->pred = (uint32_t)d->in->guard + 1;
    b->pred_flip = d->in->guard_not ? 0 : ~0u;
    b->target = d->inst + 1;
    d->leader[d->inst + 1] = true;
    struct ptx_inst *plain = ptx_arena_alloc(&d->module->arena, sizeof *plain);
    *plain = *d->in;
    plain->guard = -1;
    d->in = plain;
}

void ptx_begin_sync(struct ptx_decoder *d, uint32_t member)
{
    ptx_guard_control(d);
    if (d->op_count != ptx_current_block(d)->first)
        ptx_end_block(d, PTX_TERM_NEXT);
    struct ptx_block *b = ptx_current_block(d);
    b->sync = true;
    b->member = member + 1;
    d->leader[d->inst + 1] = true;
}

static void split_opcode(struct ptx_decoder *d)
{
    d->mods = 0;
    const char *p = d->in->op;
    size_t n = strcspn(p, ".");
    snprintf(d->root, sizeof d->root, "%.*s", (int)n, p);
    for (p += n; *p == '.'; p += n) {
        n = strcspn(++p, ".");
        if (d->mods == PTX_MAX_MODS || n >= sizeof d->mod[0]) {
            ptx_refuse(d, "it has too many modifiers");
            return;
        }
        snprintf(d->mod[d->mods], sizeof d->mod[0], "%.*s", (int)n, p);
        d->used[d->mods++] = false;
    }
}

static const struct ptx_decode_entry *find_root(const char *root)
{
    static const struct ptx_decode_entry *const tables[] = {
        ptx_decode_alu,  ptx_decode_compare, ptx_decode_memory, ptx_decode_control, ptx_decode_convert,
        ptx_decode_bits, ptx_decode_warp,    ptx_decode_matrix, ptx_decode_async,   ptx_decode_video};
    for (size_t i = 0; i < KB_COUNT(tables); i++)
        for (const struct ptx_decode_entry *e = tables[i]; e->root; e++)
            if (!strcmp(e->root, root))
                return e;
    return NULL;
}

static const char *unsupported_family(const char *op)
{
    static const struct {
        const char *prefix, *what;
    } table[] = {
        {"wgmma", "warpgroup matrix operations need the hardware"},
        {"tcgen05", "tensor memory operations need the hardware"},
        {"cp.async.bulk.tensor", "tensor copies (TMA) need the hardware"},
        {"cp.async.bulk.prefetch.tensor", "tensor copies (TMA) need the hardware"},
        {"cp.reduce.async.bulk", "reducing bulk copies (TMA) need the hardware"},
        {"tex", "textures are not supported"},
        {"tld4", "textures are not supported"},
        {"suld", "surfaces are not supported"},
        {"sust", "surfaces are not supported"},
        {"barrier.cluster", "thread block clusters are not supported"},
        {"mapa", "thread block clusters are not supported"},
        {"getctarank", "thread block clusters are not supported"},
    };
    for (size_t i = 0; i < KB_COUNT(table); i++)
        if (!strncmp(op, table[i].prefix, strlen(table[i].prefix)))
            return table[i].what;
    return NULL;
}

static void decode_supported(struct ptx_decoder *d)
{
    split_opcode(d);
    const char *family = unsupported_family(d->in->op);
    const struct ptx_decode_entry *e = find_root(d->root);
    if (family || !e) {
        ptx_refuse(d, "%s", family ? family : "the instruction is not known");
        return;
    }
    d->class = (uint8_t)e->class;
    d->counted = true;
    e->decode(d);
    for (int i = 0; i < d->mods && !d->refused; i++)
        if (!d->used[i])
            ptx_refuse(d, "its modifier .%s is not supported here", d->mod[i]);
}

// An operation in place of what cannot run, so that the launch ends only where a lane gets there: an instruction that
// nobody reaches is no reason to leave a kernel unwatched.
static void emit_refusal(struct ptx_decoder *d)
{
    struct kb_error *why = ptx_arena_alloc(&d->module->arena, sizeof *why);
    *why = d->func->refused;
    d->func->refused = (struct kb_error){.what = ""};
    d->refused = false;
    d->class = PTX_CLASS_CONTROL;
    d->counted = true;
    ptx_emit(d, "refused", 0)->imm = (int64_t)(uintptr_t)why;
}

static void decode_instruction(struct ptx_decoder *d)
{
    const struct ptx_inst *in = d->in;
    uint32_t ops = d->op_count, blocks = d->block_count, carry = d->carry;
    struct ptx_block block = *ptx_current_block(d);
    decode_supported(d);
    if (!d->refused)
        return;
    d->in = in;
    d->op_count = ops;
    d->block_count = blocks;
    d->carry = carry;
    *ptx_current_block(d) = block;
    emit_refusal(d);
}

// What an operation means for those who wait. Without a result and no store, it is a copy, a call or the like.
static void mark_block(struct ptx_block *b, const struct ptx_op *o)
{
    bool memory = o->class >= PTX_CLASS_GLOBAL && o->class <= PTX_CLASS_GENERIC;
    b->strong |= o->strong;
    b->writes |= (o->write && o->class != PTX_CLASS_ATOMIC) || (memory && !o->defs) || o->class == PTX_CLASS_CONTROL;
}

static void resolve_targets(struct ptx_decoder *d)
{
    for (uint32_t i = 0; i < d->block_count; i++) {
        struct ptx_block *b = &d->blocks[i];
        if (b->term == PTX_TERM_BRANCH)
            b->target = d->inst_block[b->target];
        for (uint32_t k = 0; k < b->target_count; k++)
            b->targets[k] = d->inst_block[b->targets[k]];
        b->id = d->module->block_ids++;
    }
    for (uint32_t i = 0; i < d->op_count; i++)
        d->ops[i].id = d->module->op_ids++;
    for (uint32_t i = 0; i < d->block_count; i++)
        for (uint32_t k = 0; k < d->blocks[i].count; k++)
            mark_block(&d->blocks[i], &d->ops[d->blocks[i].first + k]);
}

// Offsets of .param and .local variables inside the lane's part of the frame.
static uint32_t place_locals(struct ptx_func *f)
{
    uint64_t at = 0;
    struct ptx_var *lists[] = {f->is_entry ? NULL : f->params, f->is_entry ? NULL : f->results, f->locals};
    for (size_t i = 0; i < KB_COUNT(lists); i++)
        for (struct ptx_var *v = lists[i]; v; v = v->next) {
            if (v->space != PTX_SPACE_LOCAL && v->space != PTX_SPACE_PARAM)
                continue;
            at = (at + v->align - 1) & ~(uint64_t)(v->align - 1);
            v->place = at;
            at += v->bytes;
        }
    if (f->is_entry) {
        uint64_t offset = 0;
        for (struct ptx_var *v = f->params; v; v = v->next) {
            offset = (offset + v->align - 1) & ~(uint64_t)(v->align - 1);
            v->place = offset;
            offset += v->bytes;
        }
    }
    return (uint32_t)((at + 15) & ~15ull);
}

// What a function does before its first instruction and behind its last one.
static const struct ptx_inst no_inst = {.op = "call", .guard = -1};

static void begin_function(struct ptx_decoder *d)
{
    struct ptx_func *f = d->func;
    d->local_bytes = place_locals(f);
    for (uint32_t i = 0; i < f->label_count; i++)
        d->leader[f->labels[i].inst] = true;
    if (f->cluster)
        ptx_refuse(d, "thread block clusters are not supported");
    new_block(d);
    d->in = &no_inst;
    ptx_take_params(d);
    if (!d->refused || f->is_entry)
        return;
    d->op_count = 0;
    d->block_count = 0;
    new_block(d);
    emit_refusal(d); // the rest is never reached
}

static void decode_function(struct ptx_module *m, struct ptx_func *f)
{
    struct ptx_decoder d = {.module = m, .func = f};
    d.inst_block = kb_alloc((f->inst_count + 2) * sizeof *d.inst_block);
    d.leader = kb_alloc((f->inst_count + 2) * sizeof *d.leader);
    begin_function(&d);
    for (d.inst = 0; d.inst < f->inst_count && !d.refused; d.inst++) {
        struct ptx_block *b = ptx_current_block(&d);
        if (d.leader[d.inst] && (d.op_count != b->first || b->sync))
            ptx_end_block(&d, PTX_TERM_NEXT);
        d.inst_block[d.inst] = d.block_count - 1;
        d.in = &f->insts[d.inst];
        decode_instruction(&d);
    }
    if (!d.refused) {
        if (d.op_count != ptx_current_block(&d)->first)
            ptx_end_block(&d, PTX_TERM_NEXT);
        d.inst_block[f->inst_count] = d.block_count - 1;
        d.in = &no_inst;
        d.class = PTX_CLASS_CONTROL;
        ptx_give_results(&d);
        d.in = NULL;
        ptx_end_block(&d, PTX_TERM_RETURN);
        d.block_count--; // the one behind it stays empty
        resolve_targets(&d);
        f->program = ptx_arena_alloc(&m->arena, sizeof *f->program);
        *f->program = (struct ptx_program){.func = f, .local_bytes = (d.local_bytes + 15) & ~15u};
        ptx_layout(&d, f->program);
    }
    free(d.inst_block);
    free(d.leader);
    free(d.ops);
    free(d.blocks);
    free(d.consts);
    free(d.halves);
}

void ptx_decode(struct ptx_module *m)
{
    for (struct ptx_func *f = m->funcs; f; f = f->next)
        if (!f->is_extern)
            decode_function(m, f);
}
