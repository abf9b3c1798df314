#include "jit/ptx/elements.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 64, MOST_STEP = 4096 };

// A value: an address this far behind the start of a variable, or just a number. step: what it is a multiple of in any
// case; 0: always zero, or as yet unknown of a loop's own value.
struct value {
    struct ptx_var *base;
    uint64_t step;
};
static const struct value anything = {NULL, 1};

struct tracer { // of one function
    const struct ptx_func *f;
    uint32_t *first, *next; // definitions: by register the first instruction + 1, by instruction the next one
    bool *opaque, *busy;    // by register: set in some other way; being looked at
    int depth;
};

static uint64_t common(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint64_t power_in(uint64_t n)
{
    return n & -n;
}

static struct value of_register(struct tracer *t, int reg);

static struct value of_operand(struct tracer *t, const struct ptx_operand *o)
{
    switch (o->kind) {
    case PTX_REG:
        return of_register(t, o->reg);
    case PTX_INT:
        return (struct value){NULL, (int64_t)o->bits < 0 ? -o->bits : o->bits};
    case PTX_SYMBOL:
        return (struct value){o->var, o->bits};
    default:
        return anything;
    }
}

static struct value sum(struct value a, struct value b)
{
    return a.base && b.base ? anything : (struct value){a.base ? a.base : b.base, common(a.step, b.step)};
}

static struct value product(struct value a, struct value b)
{
    bool large = a.step > MOST_STEP || b.step > MOST_STEP; // a gcd with it says nothing more
    return a.base || b.base ? anything : (struct value){NULL, large ? MOST_STEP : a.step * b.step};
}

static struct value either(struct value a, struct value b)
{
    if (a.base && b.base && a.base != b.base)
        return anything;
    return (struct value){a.base ? a.base : b.base, common(a.step, b.step)};
}

static struct value shifted(struct value a, const struct ptx_operand *by)
{
    if (by->kind != PTX_INT || a.base)
        return anything;
    return product(a, (struct value){NULL, 1ull << (by->bits & 15)});
}

static struct value masked(struct value a, const struct ptx_operand *mask)
{
    if (mask->kind != PTX_INT || a.base)
        return anything;
    uint64_t own = power_in(a.step), kept = power_in(mask->bits);
    return (struct value){NULL, !a.step || own > kept ? own : kept};
}

static bool is(const struct ptx_inst *in, const char *name)
{
    return ptx_op_is(in->op, name);
}

static struct value of_result(struct tracer *t, const struct ptx_inst *in)
{
    const struct ptx_operand *o = in->operands;
    int n = in->operand_count;
    if (n == 2 && (is(in, "mov") || is(in, "cvta") || (is(in, "cvt") && !strstr(in->op, ".f"))))
        return of_operand(t, &o[1]);
    if (n == 3 && (is(in, "add") || is(in, "sub")))
        return sum(of_operand(t, &o[1]), of_operand(t, &o[2]));
    if (n == 3 && (is(in, "mul") || is(in, "mul24")))
        return product(of_operand(t, &o[1]), of_operand(t, &o[2]));
    if (n == 4 && (is(in, "mad") || is(in, "mad24")))
        return sum(product(of_operand(t, &o[1]), of_operand(t, &o[2])), of_operand(t, &o[3]));
    if (n == 3 && is(in, "shl"))
        return shifted(of_operand(t, &o[1]), &o[2]);
    if (n == 3 && is(in, "and"))
        return masked(of_operand(t, &o[1]), &o[2]);
    if (n == 3 && is(in, "or")) {
        struct value v = sum(of_operand(t, &o[1]), of_operand(t, &o[2]));
        return (struct value){v.base, power_in(v.step)};
    }
    if ((n == 4 && is(in, "selp")) || (n == 3 && (is(in, "min") || is(in, "max"))))
        return either(of_operand(t, &o[1]), of_operand(t, &o[2]));
    return anything;
}

static struct value of_register(struct tracer *t, int reg)
{
    if (reg < 0 || (uint32_t)reg >= t->f->reg_count || t->opaque[reg] || !t->first[reg] || t->depth == MOST_DEPTH)
        return anything;
    if (t->busy[reg]) // round a loop: the other definitions decide
        return (struct value){NULL, 0};
    struct value v = {NULL, 0};
    t->busy[reg] = true;
    t->depth++;
    for (uint32_t i = t->first[reg]; i; i = t->next[i - 1])
        v = either(v, of_result(t, &t->f->insts[i - 1]));
    t->depth--;
    t->busy[reg] = false;
    return v;
}

static void mark_opaque(struct tracer *t, const struct ptx_operand *o)
{
    if (o->kind == PTX_REG && o->reg >= 0 && (uint32_t)o->reg < t->f->reg_count)
        t->opaque[o->reg] = true;
    for (int i = 0; i < o->item_count; i++)
        mark_opaque(t, &o->items[i]);
}

static bool stores(const struct ptx_inst *in)
{
    return is(in, "st") || is(in, "red") || is(in, "bra") || is(in, "setp") || is(in, "bar") || is(in, "barrier");
}

static void find_definitions(struct tracer *t)
{
    for (uint32_t i = t->f->inst_count; i-- > 0;) {
        const struct ptx_inst *in = &t->f->insts[i];
        const struct ptx_operand *to = in->operand_count ? &in->operands[0] : NULL;
        if (!to || stores(in))
            continue;
        if (to->kind != PTX_REG) {
            mark_opaque(t, to);
        } else if (to->reg >= 0 && (uint32_t)to->reg < t->f->reg_count) {
            t->next[i] = t->first[to->reg];
            t->first[to->reg] = i + 1;
        }
    }
}

// Steps are collected in ptx_var.step.
static void add_address(struct tracer *t, const struct ptx_operand *o)
{
    if (o->kind != PTX_ADDRESS || !o->item_count)
        return;
    struct value v = of_operand(t, &o->items[0]);
    if (v.base && o->items[0].kind != PTX_SYMBOL) // a fixed place may lie inside of an element
        v.base->step = (uint32_t)common(v.base->step, v.step);
}

static void trace(const struct ptx_func *f)
{
    struct tracer t = {.f = f,
                       .first = kb_alloc((f->reg_count + 1) * sizeof *t.first),
                       .next = kb_alloc((f->inst_count + 1) * sizeof *t.next),
                       .opaque = kb_alloc(f->reg_count + 1),
                       .busy = kb_alloc(f->reg_count + 1)};
    find_definitions(&t);
    for (uint32_t i = 0; i < f->inst_count; i++)
        for (int k = 0; k < f->insts[i].operand_count && k < 2; k++)
            add_address(&t, &f->insts[i].operands[k]);
    free(t.first);
    free(t.next);
    free(t.opaque);
    free(t.busy);
}

static void settle(struct ptx_var *list)
{
    for (struct ptx_var *v = list; v; v = v->next) {
        bool memory = v->space == PTX_SPACE_SHARED || v->space == PTX_SPACE_GLOBAL || v->space == PTX_SPACE_CONST;
        if (memory && v->element_bytes == 1 && v->step > 1 && v->step <= MOST_STEP && v->bytes % v->step == 0)
            v->element_bytes = v->step;
    }
}

void ptx_find_elements(struct ptx_module *m)
{
    for (struct ptx_func *f = m->funcs; f; f = f->next)
        trace(f);
    settle(m->vars);
    for (struct ptx_func *f = m->funcs; f; f = f->next)
        settle(f->locals);
}
