// cp.async: a copy is done when the kernel waits for it, not before, so that a missing wait shows.
#include "jit/ptx/async.h"

#include "base/memory.h"
#include "jit/ptx/lanes.h"
#include "jit/ptx/memory.h"

#include <stdlib.h>
#include <string.h>

struct copy {
    char *to, *from;
    uint32_t group;             // of its lane
    uint8_t lane, bytes, zeros; // `zeros` bytes are filled behind `bytes` copied ones
};
struct ptx_async {
    struct copy *copies;
    size_t count, cap;
    uint32_t group[PTX_LANES]; // the open group of each lane
};

static struct ptx_async *state(struct ptx_warp *w)
{
    if (!w->async)
        w->async = kb_alloc(sizeof *w->async);
    return w->async;
}

void ptx_async_reset(struct ptx_warp *w)
{
    if (!w->async)
        return;
    w->async->count = 0;
    memset(w->async->group, 0, sizeof w->async->group);
}

void ptx_async_free(struct ptx_async *a)
{
    if (a)
        free(a->copies);
    free(a);
}

// Lanes that copy fewer bytes than they fill: only these must lie in bounds; one that copies none may hold any address.
static bool part_sources(struct ptx_warp *w, const struct ptx_op *o, const struct ptx_access *x, uint32_t mask)
{
    const uint32_t *source = ptx_u32(w, o->r[2]);
    struct ptx_op_count *c = &w->thread->ops[o->id];
    PTX_ACTIVE (mask, i) {
        uint64_t at = x->address[i], n = source[i];
        if (!n)
            continue;
        if (at & (x->bytes - 1)) {
            struct ptx_access lane = *x;
            lane.mask = 1u << i;
            ptx_misaligned(w, o, &lane);
            return false;
        }
        if (!ptx_resolve_in(w, o, (int)i, at, (uint32_t)n))
            return false;
        ptx_shadow_range(w, o, i, at, (uint32_t)n, 4);
        c->requests += i == (uint32_t)__builtin_ctz(mask);
        c->sectors += ((at + n - 1) >> 5) - (at >> 5) + 1;
    }
    return true;
}

// Operands: shared address, global address, source bytes (or the constant copy size). sub: copy size.
static void async_copy(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    struct ptx_async *a = state(w);
    uint32_t bytes = o->sub;
    struct ptx_access to = {.mask = mask, .bytes = bytes, .first = __builtin_ctz(mask)}, from = to;
    struct ptx_op shared = *o, global = *o;
    shared.space = PTX_SPACE_SHARED;
    shared.class = PTX_CLASS_SHARED;
    shared.write = shared.later = true;
    shared.id = o->id + 1; // the operation behind it stands for its shared side
    global.write = false;
    for (int i = 0; i < PTX_LANES; i++) {
        int k = mask >> i & 1 ? i : to.first;
        to.address[i] =
            o->base32 ? ptx_u32(w, o->r[0])[k] + (uint32_t)o->imm : ptx_u64(w, o->r[0])[k] + (uint64_t)o->imm;
        from.address[i] = ptx_u64(w, o->r[1])[k] + (uint64_t)o->imm2;
    }
    const uint32_t *source = ptx_u32(w, o->r[2]);
    uint32_t whole = 0;
    PTX_ACTIVE (mask, i)
        whole |= (uint32_t)(source[i] >= bytes) << i;
    if (!ptx_access_slow(w, &shared, &to) || !part_sources(w, &global, &from, mask & ~whole))
        return;
    if (whole) {
        struct ptx_access x = from;
        x.mask = whole;
        x.first = __builtin_ctz(whole);
        for (int i = 0; i < PTX_LANES; i++)
            if (!(whole >> i & 1))
                x.address[i] = from.address[x.first];
        if (!ptx_access_slow(w, &global, &x))
            return;
    }
    PTX_ACTIVE (mask, i) {
        uint32_t n = source[i] < bytes ? source[i] : bytes;
        KB_GROW(a->copies, a->count, a->cap);
        a->copies[a->count++] = (struct copy){.to = (char *)to.address[i],
                                              .from = (char *)from.address[i],
                                              .group = a->group[i],
                                              .lane = (uint8_t)i,
                                              .bytes = (uint8_t)n,
                                              .zeros = (uint8_t)(bytes - n)};
    }
}

// Does the copies of the lanes' groups before the newest `keep` closed ones; keep -1: all, closed or not.
static void finish(struct ptx_warp *w, uint32_t mask, int64_t keep)
{
    struct ptx_async *a = state(w);
    size_t left = 0;
    for (size_t k = 0; k < a->count; k++) {
        struct copy *c = &a->copies[k];
        bool due = mask >> c->lane & 1 && (keep < 0 || (int64_t)c->group + keep < (int64_t)a->group[c->lane]);
        if (!due) {
            a->copies[left++] = *c;
            continue;
        }
        if (c->bytes)
            memcpy(c->to, c->from, c->bytes);
        memset(c->to + c->bytes, 0, c->zeros);
        ptx_shadow_copied(w->cta, w->index * PTX_LANES + c->lane, c->to, c->bytes + c->zeros);
    }
    a->count = left;
}

static void async_commit(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    (void)o;
    PTX_ACTIVE (mask, i)
        state(w)->group[i]++;
}

static void async_wait(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    finish(w, mask, o->imm);
}

void ptx_async_finish(struct ptx_warp *w, uint32_t mask)
{
    if (w->async && w->async->count)
        finish(w, mask, -1);
}

const struct ptx_handler_entry ptx_async_handlers[] = {
    {"async_copy", async_copy},
    {"async_commit", async_commit},
    {"async_wait", async_wait},
    {NULL, NULL},
};
