#include "jit/pointers.h"

#include "base/memory.h"
#include "base/text.h"
#include "jit/ptx/module.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PARAMS = 64, TYPES = 8, MOST_PASSES = 64 };
static const char *const type_names[TYPES] = {"f64", "f32", "f16", "bf16", "b64", "b32", "b16", "b8"};

struct kb_pointers {
    struct ptx_module *module;
};

// Bits are parameters. A register holds what is computed from them (`from`) or what was loaded through them (`of`).
struct flow {
    const struct ptx_func *func;
    uint64_t *from, *of;
    uint8_t *type;          // of a register's value as last computed, 1 + index of type_names; 0: unknown
    uint64_t local, shared; // pointers that were put there
    uint64_t loads, stores, atomics, escaped;
    int votes[MOST_PARAMS][TYPES], width[MOST_PARAMS];
    bool changed, counting;
};

struct kb_pointers *kb_pointers_read(const char *ptx, size_t size)
{
    struct kb_pointers *p = kb_alloc(sizeof *p);
    if (ptx && size && !ptx_parse(ptx, size, &p->module, NULL))
        return p;
    free(p);
    return NULL;
}

void kb_pointers_free(struct kb_pointers *p)
{
    if (p)
        ptx_module_free(p->module);
    free(p);
}

static bool has(const char *op, const char *part)
{
    size_t n = strlen(part);
    for (const char *p = strchr(op, '.'); p; p = strchr(p + 1, '.'))
        if (!strncmp(p + 1, part, n) && (!p[1 + n] || p[1 + n] == '.' || p[1 + n] == ':'))
            return true;
    return false;
}

// The type that an instruction names last (what it reads) or first (what it gives), 0 where none is known.
static int type_in(const char *op, bool last)
{
    static const struct {
        const char *word;
        int type;
    } words[] = {{"f64", 1},    {"f32", 2}, {"f32x2", 2}, {"tf32", 2}, {"f16", 3}, {"f16x2", 3}, {"bf16", 4},
                 {"bf16x2", 4}, {"b64", 5}, {"u64", 5},   {"s64", 5},  {"b32", 6}, {"u32", 6},   {"s32", 6},
                 {"b16", 7},    {"u16", 7}, {"s16", 7},   {"b8", 8},   {"u8", 8},  {"s8", 8}};
    int found = 0;
    for (const char *p = strchr(op, '.'); p; p = strchr(p + 1, '.')) {
        size_t n = strcspn(p + 1, ".:");
        for (size_t i = 0; i < KB_COUNT(words); i++)
            if (strlen(words[i].word) == n && !strncmp(p + 1, words[i].word, n)) {
                found = words[i].type;
                if (!last)
                    return found;
            }
    }
    return found;
}

static uint64_t mask_of(const struct flow *f, const uint64_t *masks, const struct ptx_operand *o)
{
    uint64_t all = 0;
    if (o->kind == PTX_REG)
        return o->reg >= 0 && f->func->reg_bits[o->reg] > 1 ? masks[o->reg] : 0;
    for (int i = 0; i < o->item_count; i++)
        all |= mask_of(f, masks, &o->items[i]);
    return all;
}

static void put(struct flow *f, uint64_t *masks, const struct ptx_operand *o, uint64_t mask)
{
    if (o->kind == PTX_REG && o->reg >= 0 && (masks[o->reg] | mask) != masks[o->reg]) {
        masks[o->reg] |= mask;
        f->changed = true;
    }
    for (int i = 0; (o->kind == PTX_VECTOR || o->kind == PTX_PAIR) && i < o->item_count; i++)
        put(f, masks, &o->items[i], mask);
}

static void note(struct flow *f, uint64_t *set, uint64_t mask)
{
    if ((*set | mask) != *set) {
        *set |= mask;
        f->changed = true;
    }
}

// Bytes of an access: of its type, times those of a vector.
static void widen(struct flow *f, uint64_t mask, const char *op)
{
    static const int bytes[TYPES] = {8, 4, 2, 2, 8, 4, 2, 1};
    int type = type_in(op, true), width = (type ? bytes[type - 1] : 0) * (has(op, "v4") ? 4 : has(op, "v2") ? 2 : 1);
    for (int i = 0; f->counting && i < MOST_PARAMS; i++)
        if (mask >> i & 1 && width > f->width[i])
            f->width[i] = width;
}

static void vote(struct flow *f, uint64_t mask, int type, int weight)
{
    for (int i = 0; f->counting && type && i < MOST_PARAMS; i++)
        f->votes[i][type - 1] += mask >> i & 1 ? weight : 0;
}

// A parameter's place in the entry's list, -1: the operand is none.
static int param_of(const struct flow *f, const struct ptx_operand *address)
{
    const struct ptx_operand *base = address->item_count ? &address->items[0] : NULL;
    int index = 0;
    for (const struct ptx_var *v = f->func->params; v; v = v->next, index++)
        if (base && base->kind == PTX_SYMBOL && base->var == v)
            return index;
    return -1;
}

static void load(struct flow *f, const struct ptx_inst *i)
{
    const struct ptx_operand *to = &i->operands[0], *address = &i->operands[1];
    uint64_t through = mask_of(f, f->from, address);
    int param = has(i->op, "param") ? param_of(f, address) : -1;
    if (param >= 0)
        put(f, f->from, to, param < MOST_PARAMS ? 1ull << param : 0);
    else if (has(i->op, "local") || has(i->op, "shared"))
        put(f, f->from, to, has(i->op, "local") ? f->local : f->shared);
    else if (!has(i->op, "const") && !has(i->op, "param")) {
        note(f, &f->loads, through);
        put(f, f->of, to, through);
        widen(f, through, i->op);
        vote(f, through, type_in(i->op, true), 1);
    }
}

static int value_type(const struct flow *f, const struct ptx_operand *o)
{
    if (o->kind == PTX_REG && o->reg >= 0)
        return f->type[o->reg];
    if (o->kind == PTX_VECTOR && o->item_count)
        return value_type(f, &o->items[0]);
    return o->kind == PTX_F32 ? 2 : o->kind == PTX_F64 ? 1 : 0;
}

static void store(struct flow *f, const struct ptx_inst *i)
{
    uint64_t through = mask_of(f, f->from, &i->operands[0]), value = mask_of(f, f->from, &i->operands[1]);
    int type = value_type(f, &i->operands[1]);
    if (has(i->op, "local"))
        note(f, &f->local, value);
    else if (has(i->op, "shared"))
        note(f, &f->shared, value);
    else if (has(i->op, "param"))
        note(f, &f->escaped, value); // of a call
    else {
        note(f, &f->stores, through);
        widen(f, through, i->op);
        vote(f, through, type_in(i->op, true), 1);
        vote(f, through, type && type <= 4 ? type : 0, 2);
    }
}

// Everything that has an address as an operand: copies to and from shared memory, matrices, atomics.
static bool other_access(struct flow *f, const struct ptx_inst *i)
{
    uint64_t first = i->operand_count ? mask_of(f, f->from, &i->operands[0]) : 0, rest = 0;
    for (int k = 1; k < i->operand_count; k++)
        rest |= i->operands[k].kind == PTX_ADDRESS ? mask_of(f, f->from, &i->operands[k]) : 0;
    if (ptx_op_is(i->op, "atom") || ptx_op_is(i->op, "red") || ptx_op_is(i->op, "multimem")) {
        uint64_t through = ptx_op_is(i->op, "atom") ? rest : first | rest;
        if (!has(i->op, "shared")) {
            note(f, &f->atomics, through);
            vote(f, through, type_in(i->op, true), 1);
        }
    } else if (!strncmp(i->op, "cp.reduce", 9)) {
        note(f, &f->atomics, first);
    } else if (ptx_op_is(i->op, "cp")) {
        note(f, &f->stores, first);
        note(f, &f->loads, rest);
    } else if (!strncmp(i->op, "wmma.load", 9) || !strncmp(i->op, "ldu", 3)) {
        note(f, &f->loads, rest);
        vote(f, rest, type_in(i->op, true), 1);
    } else if (!strncmp(i->op, "wmma.store", 10)) {
        note(f, &f->stores, first);
        vote(f, first, type_in(i->op, true), 1);
    } else if (ptx_op_is(i->op, "call")) {
        for (int k = 0; k < i->operand_count; k++)
            note(f, &f->escaped, mask_of(f, f->from, &i->operands[k]));
    } else {
        return ptx_op_is(i->op, "prefetch") || ptx_op_is(i->op, "prefetchu") || ptx_op_is(i->op, "discard") ||
               ptx_op_is(i->op, "applypriority");
    }
    return true;
}

static void set_type(struct flow *f, const struct ptx_operand *o, int type)
{
    if (o->kind == PTX_REG && o->reg >= 0 && type)
        f->type[o->reg] = (uint8_t)type;
}

// Arithmetic: what comes out is computed from what went in; a type of reals says what was loaded.
static void arithmetic(struct flow *f, const struct ptx_inst *i)
{
    uint64_t from = 0, of = 0;
    bool moves = ptx_op_is(i->op, "mov");
    int type = type_in(i->op, true), gives = type_in(i->op, !ptx_op_is(i->op, "cvt"));
    for (int k = 1; k < i->operand_count; k++) {
        from |= mask_of(f, f->from, &i->operands[k]);
        of |= mask_of(f, f->of, &i->operands[k]);
    }
    vote(f, of, !moves && type <= 4 ? type : 0, 2);
    if (!i->operand_count)
        return;
    put(f, f->from, &i->operands[0], from);
    put(f, f->of, &i->operands[0], moves ? of : 0);
    if (moves && i->operand_count > 1 && value_type(f, &i->operands[1]))
        gives = value_type(f, &i->operands[1]);
    set_type(f, &i->operands[0], gives);
}

static void step(struct flow *f, const struct ptx_inst *i)
{
    if (ptx_op_is(i->op, "ld") && i->operand_count > 1)
        load(f, i);
    else if (ptx_op_is(i->op, "st") && i->operand_count > 1)
        store(f, i);
    else if (!other_access(f, i))
        arithmetic(f, i);
}

static void pass(struct flow *f)
{
    f->changed = false;
    for (uint32_t i = 0; i < f->func->inst_count; i++)
        step(f, &f->func->insts[i]);
}

static const char *most_voted(const int votes[TYPES])
{
    int best = -1;
    for (int t = 0; t < TYPES; t++)
        if (votes[t] > 0 && (best < 0 || votes[t] > votes[best]))
            best = t;
    return best < 0 ? "" : type_names[best];
}

static int uses(const struct flow *f, bool settled, struct kb_param_use *out, int most)
{
    int n = 0;
    for (const struct ptx_var *v = f->func->params; v; v = v->next, n++) {
        if (n >= most)
            continue;
        uint64_t bit = n < MOST_PARAMS ? 1ull << n : 0;
        out[n] = (struct kb_param_use){.bytes = (int)v->bytes,
                                       .known = settled && bit && v->bytes == 8 && !(f->escaped & bit),
                                       .loads = f->loads & bit,
                                       .stores = f->stores & bit,
                                       .atomics = f->atomics & bit};
        if (bit)
            out[n].width = f->width[n];
        if (bit)
            strcpy(out[n].type, most_voted(f->votes[n]));
    }
    return n;
}

int kb_pointers_of(const struct kb_pointers *p, const char *lowered, struct kb_param_use *out, int most)
{
    struct ptx_func *func = ptx_find_func(p->module, lowered);
    if (!func || !func->is_entry)
        return 0;
    struct flow f = {.func = func};
    size_t registers = func->reg_count + 1;
    f.from = kb_alloc(registers * sizeof *f.from);
    f.of = kb_alloc(registers * sizeof *f.of);
    f.type = kb_alloc(registers);
    int passes = 0;
    do
        pass(&f);
    while (f.changed && ++passes < MOST_PASSES);
    bool settled = !f.changed;
    f.counting = true;
    pass(&f);
    int n = uses(&f, settled, out, most);
    free(f.from);
    free(f.of);
    free(f.type);
    return n;
}
