// Bulk copies without tensors (cp.async.bulk): from global to shared memory, completed at a barrier object, and back in
// groups of a thread. As with cp.async a copy is done when somebody waits for it, so that a missing wait shows.
#include "jit/ptx/async.h"

#include "base/memory.h"
#include "jit/ptx/lanes.h"
#include "jit/ptx/memory.h"

#include <stdlib.h>
#include <string.h>

struct copy {
    char *to, *from;
    uint64_t *barrier; // NULL: of a group
    uint32_t bytes, thread, group;
};
struct ptx_bulk { // of one block
    struct copy *copies;
    size_t count, cap;
    uint32_t *group; // the open group of each thread
};

static struct ptx_bulk *state(struct ptx_cta *c)
{
    if (!c->bulk) {
        c->bulk = kb_alloc(sizeof *c->bulk);
        c->bulk->group = kb_alloc(c->warp_count * PTX_LANES * sizeof *c->bulk->group);
    }
    return c->bulk;
}

void ptx_bulk_free(struct ptx_bulk *b)
{
    if (!b)
        return;
    free(b->copies);
    free(b->group);
    free(b);
}

static void copy_now(struct ptx_cta *cta, const struct copy *c)
{
    memcpy(c->to, c->from, c->bytes);
    ptx_shadow_copied(cta, c->thread, c->to, c->bytes);
    if (!c->barrier)
        return;
    ptx_shadow_copy_done(cta, c->thread, c->barrier);
    ptx_mbarrier_complete(c->barrier, c->bytes);
}

void ptx_bulk_end(struct ptx_cta *c)
{
    struct ptx_bulk *b = c->bulk;
    if (!b)
        return;
    for (size_t i = 0; i < b->count; i++)
        if (!b->copies[i].barrier)
            copy_now(c, &b->copies[i]);
    b->count = 0;
    memset(b->group, 0, c->warp_count * PTX_LANES * sizeof *b->group);
}

void ptx_bulk_wait(struct ptx_cta *c, const uint64_t *barrier)
{
    struct ptx_bulk *b = c->bulk;
    size_t left = 0;
    for (size_t i = 0; b && i < b->count; i++)
        if (b->copies[i].barrier == barrier)
            copy_now(c, &b->copies[i]);
        else
            b->copies[left++] = b->copies[i];
    if (b)
        b->count = left;
}

// One side of the copy: host address, or NULL after a fault. Counts as an access of `o`.
static char *side(struct ptx_warp *w, const struct ptx_op *o, uint32_t lane, uint64_t address, uint32_t bytes)
{
    struct ptx_op_count *c = &w->thread->ops[o->id];
    if (address % 16 || bytes % 16) {
        ptx_fault(w, o, (int)lane, "CUDA_ERROR_MISALIGNED_ADDRESS",
                  "a bulk copy of %u bytes at address 0x%llx: both must be multiples of 16", bytes,
                  (unsigned long long)address);
        return NULL;
    }
    char *host = ptx_resolve_in(w, o, (int)lane, address, bytes);
    if (!host)
        return NULL;
    ptx_shadow_range(w, o, lane, (uint64_t)host, bytes, 4);
    c->requests++;
    c->bytes += bytes;
    if (o->space == PTX_SPACE_GLOBAL)
        c->sectors += (((uint64_t)host + bytes - 1) >> 5) - ((uint64_t)host >> 5) + 1;
    return host;
}

// Operands: shared address, global address, bytes, and the barrier object of a copy to shared memory. sub: to shared.
static void bulk_copy(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    struct ptx_bulk *b = state(w->cta);
    struct ptx_op shared = *o, global = *o;
    shared.space = PTX_SPACE_SHARED;
    shared.class = PTX_CLASS_SHARED;
    shared.id = o->id + 1; // the operation behind it stands for its shared side
    shared.write = shared.later = o->sub;
    global.write = global.later = !o->sub;
    shared.by_proxy = global.by_proxy = true;
    PTX_ACTIVE (mask, i) {
        uint64_t in_shared = ptx_u64(w, o->r[0])[i], in_global = ptx_u64(w, o->r[1])[i];
        uint32_t bytes = ptx_u32(w, o->r[2])[i];
        if (!bytes)
            continue;
        char *here = side(w, &shared, i, in_shared & (PTX_TAG_SHARED - 1), bytes);
        char *there = here ? side(w, &global, i, in_global, bytes) : NULL;
        uint64_t *barrier = NULL;
        if (there && o->sub)
            barrier = ptx_mbarrier_at(w, &shared, i, ptx_u64(w, o->r[3])[i] & (PTX_TAG_SHARED - 1));
        if (!there || (o->sub && !barrier))
            return;
        uint32_t thread = w->index * PTX_LANES + i;
        KB_GROW(b->copies, b->count, b->cap);
        b->copies[b->count++] = (struct copy){.to = o->sub ? here : there,
                                              .from = o->sub ? there : here,
                                              .barrier = barrier,
                                              .bytes = bytes,
                                              .thread = thread,
                                              .group = b->group[thread]};
    }
}

static void bulk_commit(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    (void)o;
    struct ptx_bulk *b = state(w->cta);
    PTX_ACTIVE (mask, i)
        b->group[w->index * PTX_LANES + i]++;
}

// All but the newest imm groups.
static void bulk_wait(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    struct ptx_bulk *b = state(w->cta);
    size_t left = 0;
    for (size_t k = 0; k < b->count; k++) {
        const struct copy *c = &b->copies[k];
        bool mine = c->thread / PTX_LANES == w->index && mask >> c->thread % PTX_LANES & 1;
        if (!c->barrier && mine && (int64_t)c->group + o->imm < (int64_t)b->group[c->thread])
            copy_now(w->cta, c);
        else
            b->copies[left++] = *c;
    }
    b->count = left;
}

const struct ptx_handler_entry ptx_bulk_handlers[] = {
    {"bulk_copy", bulk_copy},
    {"bulk_commit", bulk_commit},
    {"bulk_wait", bulk_wait},
    {NULL, NULL},
};
