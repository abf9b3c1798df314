#include "jit/ptx/flags.h"

#include "base/memory.h"
#include "jit/ptx/async.h"

#include <stdlib.h>

struct ptx_flags *ptx_flags_of(struct ptx_launch *l)
{
    return l->flags ? l->flags : (l->flags = kb_alloc(sizeof *l->flags));
}

static uint32_t start_of(uint64_t at)
{
    return (uint32_t)(at * 0x9e3779b97f4a7c15 >> 32);
}

struct ptx_flag *ptx_flag_find(const struct ptx_flags *f, uint64_t at)
{
    if (!f || !f->count)
        return NULL;
    for (uint32_t i = start_of(at);; i++) {
        struct ptx_flag *s = &f->slots[i & (f->cap - 1)];
        if (s->at == at || !s->at)
            return s->at ? s : NULL;
    }
}

static struct ptx_flag *put(struct ptx_flags *f, const struct ptx_flag *what)
{
    uint32_t i = start_of(what->at);
    while (f->slots[i & (f->cap - 1)].at)
        i++;
    f->slots[i & (f->cap - 1)] = *what;
    f->count++;
    return &f->slots[i & (f->cap - 1)];
}

struct ptx_flag *ptx_flag_add(struct ptx_flags *f, uint64_t at)
{
    struct ptx_flag *known = ptx_flag_find(f, at);
    if (known)
        return known;
    if ((f->count + 1) * 2 > f->cap) {
        struct ptx_flags larger = {.cap = f->cap ? f->cap * 2 : 64, .work = f->work};
        larger.slots = kb_alloc(larger.cap * sizeof *larger.slots);
        for (uint32_t i = 0; i < f->cap; i++)
            if (f->slots[i].at)
                put(&larger, &f->slots[i]);
        free(f->slots);
        *f = larger;
    }
    return put(f, &(struct ptx_flag){.at = at, .writer = UINT32_MAX});
}

void ptx_flag_empty(struct ptx_flag *f)
{
    ptx_vector_forget(&f->device);
    for (int i = 0; i < PTX_LOCAL_CLOCKS; i++)
        ptx_vector_forget(&f->local[i].clock);
}

void ptx_shadow_forget_flags(struct ptx_launch *l)
{
    struct ptx_flags *f = l->flags;
    for (uint32_t i = 0; f && i < f->cap; i++)
        ptx_flag_empty(&f->slots[i]);
    if (f)
        free(f->slots);
    free(f);
    l->flags = NULL;
}
