// Where the variables of a module live: global and constant ones in host memory of their own, shared ones at offsets.
#include "jit/ptx/device_parts.h"

#include "base/memory.h"
#include "jit/ptx/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_variable(struct kb_module *m, struct ptx_var *v)
{
    size_t align = v->align < 256 ? 256 : v->align;
    size_t bytes = (v->bytes + align - 1) & ~(align - 1);
    char *memory = aligned_alloc(align, bytes + align);
    if (!memory)
        abort();
    memset(memory, 0, bytes + align);
    if (v->init)
        memcpy(memory, v->init, v->bytes);
    v->place = (uint64_t)memory;
    struct ptx_allocation *a = kb_alloc(sizeof *a);
    *a = (struct ptx_allocation){.low = v->place,
                                 .high = v->place + v->bytes,
                                 .outer_low = v->place,
                                 .outer_high = v->place + bytes + align,
                                 .element_bytes = v->element_bytes,
                                 .variable = true,
                                 .set = v->init || v->relocs,
                                 .read_only = v->space == PTX_SPACE_CONST,
                                 .memory = memory};
    bool local = !strncmp(v->name, "_ZZ", 3); // nobody asks for it by name, and that would not fit
    snprintf(a->name, sizeof a->name, "%s", local ? ptx_plain_name(v->name) : v->name);
    ptx_space_add(&m->device->space, a);
    KB_GROW(m->variables, m->variable_count, m->variable_cap);
    m->variables[m->variable_count++] = a;
}

static struct ptx_var *find_var(const struct ptx_module *m, const char *name)
{
    for (struct ptx_var *v = m->vars; v; v = v->next)
        if (!strcmp(v->name, name))
            return v;
    return NULL;
}

static int relocate(struct kb_module *m, const struct ptx_var *v, struct kb_error *e)
{
    for (const struct ptx_reloc *r = v->relocs; r; r = r->next) {
        const struct ptx_var *target = find_var(m->ptx, r->symbol);
        const struct ptx_func *func = target ? NULL : ptx_find_func(m->ptx, r->symbol);
        if (!target && !func)
            return kb_fail(e, v->name, NULL, "its initialiser names '%s', which the module does not hold", r->symbol);
        uint64_t value = (target ? target->place : (uint64_t)func) + (uint64_t)r->add;
        memcpy((char *)v->place + r->at, &value, r->bytes < 8 ? r->bytes : 8);
    }
    return 0;
}

static uint32_t place_shared(struct ptx_var *v, uint32_t at)
{
    uint32_t align = v->align < 16 ? 16 : v->align;
    at = (at + align - 1) & ~(align - 1);
    v->place = at;
    return at + (uint32_t)v->bytes + PTX_GUARD_GAP;
}

// Static shared variables of all kernels, one behind the other; dynamic shared memory begins behind them.
void ptx_place_shared(struct kb_module *m)
{
    uint32_t at = PTX_RESERVED_SHARED;
    for (struct ptx_var *v = m->ptx->vars; v; v = v->next)
        if (v->space == PTX_SPACE_SHARED && v->bytes)
            at = place_shared(v, at);
    for (struct ptx_func *f = m->ptx->funcs; f; f = f->next)
        for (struct ptx_var *v = f->locals; v; v = v->next)
            if (v->space == PTX_SPACE_SHARED)
                at = place_shared(v, at);
    m->dynamic_at = (at + 1023) & ~1023u;
    for (struct ptx_var *v = m->ptx->vars; v; v = v->next)
        if (v->space == PTX_SPACE_SHARED && !v->bytes)
            v->place = m->dynamic_at;
}

// As the hardware packs them.
size_t ptx_static_shared(const struct ptx_module *m, const struct ptx_func *f)
{
    size_t at = 0;
    const struct ptx_var *lists[] = {m->vars, f->locals};
    for (size_t i = 0; i < KB_COUNT(lists); i++)
        for (const struct ptx_var *v = lists[i]; v; v = v->next)
            if (v->space == PTX_SPACE_SHARED && v->bytes && ptx_uses_var(m, f, v))
                at = ((at + v->align - 1) & ~(size_t)(v->align - 1)) + v->bytes;
    for (const struct ptx_func *g = m->funcs; g; g = g->next)
        for (const struct ptx_var *v = g == f || g->is_entry ? NULL : g->locals; v; v = v->next)
            if (v->space == PTX_SPACE_SHARED && ptx_uses_var(m, f, v))
                at = ((at + v->align - 1) & ~(size_t)(v->align - 1)) + v->bytes;
    return at;
}

static bool lives_on(const struct ptx_var *v)
{
    return v->space == PTX_SPACE_GLOBAL || v->space == PTX_SPACE_CONST;
}

static int place_list(struct kb_module *m, struct ptx_var *list, struct kb_error *e)
{
    for (struct ptx_var *v = list; v; v = v->next) {
        if (!lives_on(v))
            continue;
        if (v->is_extern)
            return kb_fail(e, v->name, "define it in the same source", "the variable is declared, but nowhere defined");
        add_variable(m, v);
    }
    return 0;
}

static int relocate_list(struct kb_module *m, const struct ptx_var *list, struct kb_error *e)
{
    for (const struct ptx_var *v = list; v; v = v->next)
        if (lives_on(v) && v->relocs && relocate(m, v, e))
            return -1;
    return 0;
}

// Inline assembly declares some inside of functions; they are the module's all the same.
int ptx_place_variables(struct kb_module *m, struct kb_error *e)
{
    if (place_list(m, m->ptx->vars, e))
        return -1;
    for (struct ptx_func *f = m->ptx->funcs; f; f = f->next)
        if (place_list(m, f->locals, e))
            return -1;
    for (struct ptx_func *f = m->ptx->funcs; f; f = f->next)
        if (relocate_list(m, f->locals, e))
            return -1;
    return relocate_list(m, m->ptx->vars, e);
}

const struct kb_module_memory *ptx_module_memory(struct kb_module *m, int *count, bool *whole)
{
    if (!m->memory && m->variable_count)
        m->memory = kb_alloc(m->variable_count * sizeof *m->memory);
    *count = 0;
    *whole = true;
    for (uint32_t i = 0; i < m->variable_count; i++)
        if (m->variables[i]->high > m->variables[i]->low)
            m->memory[(*count)++] = (struct kb_module_memory){.address = m->variables[i]->low,
                                                              .bytes = m->variables[i]->high - m->variables[i]->low,
                                                              .constant = m->variables[i]->read_only};
    return m->memory;
}

// One that a kernel reads while it was never written: the program that the kernel comes from sets it, this one does
// not. Whether it is written is known when the launch ends.
static void note_unset(struct ptx_launch *l, struct ptx_allocation *a)
{
    if (a->read_loc && !a->set)
        ptx_note_at(l, a->read_loc, "unset_variable", "reads %s, which nobody set: all of it is zero",
                    ptx_plain_name(a->name));
    a->read_loc = 0;
}

void ptx_note_unset(struct ptx_launch *l, const struct kb_module *m)
{
    for (uint32_t i = 0; i < m->variable_count; i++)
        note_unset(l, m->variables[i]);
}
