#include "jit/ptx/order.h"

#include "base/memory.h"
#include "jit/ptx/async.h"
#include "jit/ptx/flags.h"
#include "jit/ptx/warp.h"

#include <stdlib.h>
#include <string.h>

// Entries of clocks that a launch may join; then whatever is seen counts as ordered. Blocks' clocks that stay at a
// flag.
enum { MOST_WORK = 400000000, SEEN = 4, MOST_WARPS = 32 };

struct seen {
    uint32_t thread, time, loc;
};
struct thread_order {
    struct ptx_vector *known;                          // beyond what barriers and warp operations gave
    struct ptx_vector *pending;                        // seen, but no fence since
    struct ptx_vector *through;                        // the same, and a barrier since
    struct ptx_vector *last;                           // what was added to `pending` last
    struct ptx_vector *proxied;                        // known at its last proxy fence
    uint32_t fence[PTX_SCOPE_DEVICE + 1], proxy_fence; // times of the last ones, of this scope or a larger one
    struct seen seen[SEEN];
    uint32_t next_seen;
};
struct meeting { // of those that have come to a barrier of some of the block's warps
    uint32_t row[MOST_WARPS];
    struct ptx_vector *known, *pending;
};
struct ptx_ordering { // of one block
    uint32_t warps;
    uint32_t row[MOST_WARPS][MOST_WARPS]; // [w][v]: up to when w knows v
    uint32_t performed[MOST_WARPS];       // up to when a fence of the device lies behind what v did
    uint32_t proxied[MOST_WARPS];         // the same for the asynchronous proxy
    uint32_t alone[MOST_WARPS];           // lanes that fenced without the rest of their warp
    bool clocks[MOST_WARPS];              // its lanes have some
    bool fenced[PTX_SCOPE_DEVICE + 1];
    struct thread_order *threads;       // NULL: nobody fenced or saw anything yet
    struct ptx_vector *known, *through; // of all threads
    struct meeting *meeting[PTX_BARRIERS];
};

static uint32_t now(const struct ptx_warp *w)
{
    return ++w->thread->launch->time;
}

static uint32_t at_least(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static void join(struct ptx_launch *l, struct ptx_vector **to, struct ptx_vector *from)
{
    struct ptx_flags *f = ptx_flags_of(l);
    if (!from || from == *to)
        return;
    if (f->work < MOST_WORK) {
        ptx_vector_join(to, from, &f->work);
        return;
    }
    ptx_vector_drop(*to);
    *to = ptx_vector_everything(l->time);
}

struct ptx_ordering *ptx_ordering_new(const struct ptx_launch *l)
{
    struct ptx_ordering *o = kb_alloc(sizeof *o);
    o->warps = l->warps;
    return o;
}

static void forget_threads(struct ptx_ordering *o)
{
    for (uint32_t i = 0; o->threads && i < o->warps * PTX_LANES; i++) {
        struct thread_order *t = &o->threads[i];
        struct ptx_vector **clocks[] = {&t->known, &t->pending, &t->through, &t->last, &t->proxied};
        for (size_t k = 0; k < KB_COUNT(clocks); k++)
            ptx_vector_forget(clocks[k]);
    }
    free(o->threads);
}

void ptx_ordering_reset(struct ptx_ordering *o)
{
    uint32_t warps = o->warps;
    forget_threads(o);
    ptx_vector_forget(&o->known);
    ptx_vector_forget(&o->through);
    for (int i = 0; i < PTX_BARRIERS; i++)
        if (o->meeting[i]) {
            ptx_vector_forget(&o->meeting[i]->known);
            ptx_vector_forget(&o->meeting[i]->pending);
            free(o->meeting[i]);
        }
    *o = (struct ptx_ordering){.warps = warps};
}

void ptx_ordering_free(struct ptx_ordering *o)
{
    ptx_ordering_reset(o);
    free(o);
}

static struct thread_order *thread_of(const struct ptx_warp *w, uint32_t lane)
{
    struct ptx_ordering *o = w->cta->ordering;
    if (!o->threads)
        o->threads = kb_alloc(o->warps * PTX_LANES * sizeof *o->threads);
    return &o->threads[w->index * PTX_LANES + lane];
}

const uint32_t *ptx_order_row(struct ptx_warp *w)
{
    return w->cta->ordering->row[w->index];
}

static bool knows(const struct ptx_launch *l, const struct ptx_vector *c, uint32_t thread, uint32_t time)
{
    uint32_t t = thread % l->threads;
    return ptx_vector_knows(c, thread / l->threads, t / PTX_LANES, t % PTX_LANES, time);
}

enum ptx_ordered ptx_order_of(const struct ptx_warp *w, uint32_t lane, uint32_t thread, uint32_t time)
{
    const struct ptx_launch *l = w->thread->launch;
    const struct ptx_ordering *o = w->cta->ordering;
    uint32_t first = (uint32_t)(w->cta->number * l->threads), inside = thread - first;
    if (inside < l->threads && time <= o->row[w->index][inside / PTX_LANES])
        return PTX_ORDERED;
    if (!o->threads)
        return PTX_UNORDERED;
    const struct thread_order *t = &o->threads[w->index * PTX_LANES + lane];
    if (knows(l, t->known, thread, time) || knows(l, o->known, thread, time))
        return PTX_ORDERED;
    if (knows(l, t->through, thread, time) || knows(l, o->through, thread, time))
        return PTX_SEEN_THROUGH_BARRIER;
    return knows(l, t->pending, thread, time) ? PTX_SEEN : PTX_UNORDERED;
}

void ptx_order_saw(struct ptx_warp *w, uint32_t lane, uint32_t thread, uint32_t time, uint32_t loc)
{
    struct thread_order *t = thread_of(w, lane);
    const struct seen *last = &t->seen[(t->next_seen - 1) % SEEN];
    if (last->thread != thread || last->time != time)
        t->seen[t->next_seen++ % SEEN] = (struct seen){thread, time, loc};
}

uint32_t ptx_order_saw_since(const struct ptx_warp *w, uint32_t lane, uint32_t thread, uint32_t time)
{
    const struct ptx_ordering *o = w->cta->ordering;
    if (!o->threads)
        return 0;
    const struct thread_order *t = &o->threads[w->index * PTX_LANES + lane];
    for (uint32_t i = 1; i <= SEEN; i++) {
        const struct seen *s = &t->seen[(t->next_seen - i) % SEEN];
        if (s->time > time && s->thread == thread)
            return s->loc;
    }
    return 0;
}

// Fences.

// Until here everything that the warp knows, and what it did itself, has been fenced.
static void all_fenced(struct ptx_warp *w, uint32_t mask, uint32_t *until, uint32_t time)
{
    const struct ptx_ordering *o = w->cta->ordering;
    for (uint32_t v = 0; v < o->warps; v++)
        until[v] = at_least(until[v], o->row[w->index][v]);
    if (mask == w->live)
        until[w->index] = time;
}

static void fence(struct ptx_warp *w, uint32_t mask, enum ptx_scope scope)
{
    struct ptx_launch *l = w->thread->launch;
    struct ptx_ordering *o = w->cta->ordering;
    uint32_t time = now(w);
    PTX_ACTIVE (mask, i) {
        struct thread_order *t = thread_of(w, i);
        t->fence[PTX_SCOPE_BLOCK] = time;
        if (scope != PTX_SCOPE_DEVICE)
            continue;
        t->fence[PTX_SCOPE_DEVICE] = time;
        if (o->through)
            o->clocks[w->index] = true;
        join(l, &t->known, t->pending);
        join(l, &t->known, t->through);
        join(l, &t->known, o->through);
        ptx_vector_forget(&t->pending);
        ptx_vector_forget(&t->through);
    }
    o->fenced[PTX_SCOPE_BLOCK] = true;
    if (scope != PTX_SCOPE_DEVICE)
        return;
    o->fenced[PTX_SCOPE_DEVICE] = true;
    all_fenced(w, mask, o->performed, time);
    if (mask != w->live)
        o->alone[w->index] |= mask;
}

static void proxy_fence(struct ptx_warp *w, uint32_t mask)
{
    struct ptx_launch *l = w->thread->launch;
    struct ptx_ordering *o = w->cta->ordering;
    uint32_t time = now(w);
    PTX_ACTIVE (mask, i) {
        struct thread_order *t = thread_of(w, i);
        t->proxy_fence = time;
        join(l, &t->proxied, t->known);
        join(l, &t->proxied, o->known);
    }
    all_fenced(w, mask, o->proxied, time);
}

void ptx_shadow_fence(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    if (w->thread->launch->check != PTX_CHECK_FULL)
        return;
    ptx_shadow_open(w->cta);
    if (o->by_proxy)
        proxy_fence(w, mask);
    if (o->order.scope != PTX_WEAK)
        fence(w, mask, o->order.scope);
}

bool ptx_order_proxied(const struct ptx_warp *w, uint32_t lane, uint32_t thread, uint32_t time)
{
    const struct ptx_launch *l = w->thread->launch;
    const struct ptx_ordering *o = w->cta->ordering;
    uint32_t inside = thread - (uint32_t)(w->cta->number * l->threads);
    if (inside >= l->threads)
        return true;
    if (time <= o->proxied[inside / PTX_LANES])
        return true;
    if (!o->threads)
        return false;
    return time <= o->threads[inside].proxy_fence ||
           knows(l, o->threads[w->index * PTX_LANES + lane].proxied, thread, time);
}

// Flags.

// What the lane hands on to others of the device (or of its block): what it knows, as far as it was fenced.
static struct ptx_vector *handed_on(struct ptx_warp *w, uint32_t lane, enum ptx_scope scope)
{
    struct ptx_launch *l = w->thread->launch;
    const struct ptx_ordering *o = w->cta->ordering;
    const struct thread_order *t = thread_of(w, lane);
    struct ptx_known of[1 + MOST_WARPS + MOST_WARPS * PTX_LANES];
    uint32_t n = 1, least = UINT32_MAX, own = t->fence[scope];
    uint64_t block = w->cta->number;
    for (uint32_t v = 0; v < o->warps; v++) {
        bool device = scope == PTX_SCOPE_DEVICE, mine = v == w->index;
        uint32_t known = o->row[w->index][v], done = device ? o->performed[v] : known;
        uint32_t time = mine && own && own == done ? own : done < known ? done : known;
        least = time < least ? time : least;
        of[n++] = (struct ptx_known){PTX_WHO_WARP(block, v), time};
        for (uint32_t m = (device ? o->alone[v] : 0) | (mine ? 1u << lane : 0); m; m &= m - 1) {
            uint32_t i = (uint32_t)__builtin_ctz(m), at = o->threads[v * PTX_LANES + i].fence[scope];
            at = mine && i == lane ? own : at < known ? at : known;
            if (at > time)
                of[n++] = (struct ptx_known){PTX_WHO_LANE(block, v, i), at};
        }
    }
    of[0] = (struct ptx_known){PTX_WHO_BLOCK(block), least};
    struct ptx_vector *c = ptx_vector_new(of, n);
    join(l, &c, t->known);
    join(l, &c, o->known);
    return c;
}

static void put_clock(struct ptx_launch *l, struct ptx_vector **to, struct ptx_vector *c, bool more)
{
    if (!more)
        ptx_vector_forget(to);
    join(l, to, c);
}

static void put_local(struct ptx_launch *l, struct ptx_flag *f, uint64_t block, struct ptx_vector *c, bool more)
{
    for (int i = 0; i < PTX_LOCAL_CLOCKS; i++)
        if (f->local[i].clock && f->local[i].block == block) {
            put_clock(l, &f->local[i].clock, c, more);
            return;
        }
    uint32_t k = f->next_local++ % PTX_LOCAL_CLOCKS;
    ptx_vector_forget(&f->local[k].clock);
    f->local[k].block = block;
    f->local[k].clock = ptx_vector_use(c);
}

static bool in_shared(const struct ptx_warp *w, uint64_t at)
{
    uint64_t shared = (uint64_t)w->cta->shared;
    return at >= shared && at < shared + w->thread->launch->shared_end;
}

// The lane stores to the words at these bytes. more: what lies there is handed on as well.
static void signal(struct ptx_warp *w, uint32_t lane, uint64_t at, uint32_t bytes, enum ptx_scope scope, bool more)
{
    struct ptx_launch *l = w->thread->launch;
    const struct ptx_ordering *o = w->cta->ordering;
    uint32_t me = (uint32_t)(w->cta->number * l->threads) + w->index * PTX_LANES + lane;
    bool device = scope == PTX_SCOPE_DEVICE && !in_shared(w, at) && o->fenced[PTX_SCOPE_DEVICE];
    struct ptx_vector *far = device ? handed_on(w, lane, PTX_SCOPE_DEVICE) : NULL;
    struct ptx_vector *near = o->fenced[PTX_SCOPE_BLOCK] ? handed_on(w, lane, PTX_SCOPE_BLOCK) : NULL;
    for (uint64_t k = at & ~3ull; k < at + bytes; k += 4) {
        struct ptx_flag *f = far || near ? ptx_flag_add(ptx_flags_of(l), k) : ptx_flag_find(l->flags, k);
        if (!f)
            continue;
        bool keep = more || bytes < 4 || f->writer == me;
        if (!keep)
            ptx_flag_empty(f);
        join(l, &f->device, far);
        if (near)
            put_local(l, f, w->cta->number, near, keep);
        f->writer = me;
    }
    ptx_vector_drop(far);
    ptx_vector_drop(near);
}

// The lane loads from there.
static void observe(struct ptx_warp *w, uint32_t lane, uint64_t at, uint32_t bytes, enum ptx_scope scope)
{
    struct ptx_launch *l = w->thread->launch;
    struct ptx_ordering *o = w->cta->ordering;
    for (uint64_t k = at & ~3ull; k < at + bytes; k += 4) {
        const struct ptx_flag *f = ptx_flag_find(l->flags, k);
        if (!f)
            continue;
        struct thread_order *t = thread_of(w, lane);
        o->clocks[w->index] = true;
        for (int i = 0; i < PTX_LOCAL_CLOCKS; i++)
            if (f->local[i].clock && f->local[i].block == w->cta->number)
                join(l, &t->known, f->local[i].clock);
        if (scope != PTX_SCOPE_DEVICE || !f->device || f->device == t->last)
            continue;
        ptx_vector_drop(t->last);
        t->last = ptx_vector_use(f->device);
        join(l, &t->pending, f->device);
    }
}

void ptx_order_strong(struct ptx_warp *w, const struct ptx_op *o, const struct ptx_access *x)
{
    enum ptx_scope scope = o->order.scope;
    bool reads = !o->write || o->class == PTX_CLASS_ATOMIC;
    if (o->order.releases)
        fence(w, x->mask, scope);
    if (w->thread->launch->flags || w->cta->ordering->fenced[PTX_SCOPE_BLOCK])
        PTX_ACTIVE (x->mask, i) {
            if (reads)
                observe(w, i, x->address[i], x->bytes, scope);
            if (o->write)
                signal(w, i, x->address[i], x->bytes, scope, reads);
        }
    if (o->order.acquires)
        fence(w, x->mask, scope);
}

void ptx_shadow_signal(struct ptx_warp *w, uint32_t lane, const void *word)
{
    if (w->thread->launch->check != PTX_CHECK_FULL)
        return;
    ptx_shadow_open(w->cta);
    fence(w, 1u << lane, PTX_SCOPE_BLOCK);
    signal(w, lane, (uint64_t)word, 4, PTX_SCOPE_BLOCK, true);
}

void ptx_shadow_observe(struct ptx_warp *w, uint32_t lane, const void *word)
{
    if (w->thread->launch->check != PTX_CHECK_FULL)
        return;
    ptx_shadow_open(w->cta);
    observe(w, lane, (uint64_t)word, 4, PTX_SCOPE_BLOCK);
}

// A copy of this thread of the block, just done, is handed on at the barrier object.
void ptx_shadow_copy_done(struct ptx_cta *c, uint32_t thread, const void *word)
{
    struct ptx_launch *l = c->warps[0].thread->launch;
    if (l->check != PTX_CHECK_FULL)
        return;
    uint32_t warp = thread / PTX_LANES;
    struct ptx_known of = {PTX_WHO_LANE(c->number, warp, thread % PTX_LANES), ++l->time};
    struct ptx_vector *clock = ptx_vector_new(&of, 1);
    put_local(l, ptx_flag_add(ptx_flags_of(l), (uint64_t)word), c->number, clock, true);
    ptx_vector_drop(clock);
}

// Barriers and warp operations.

void ptx_shadow_arrive(struct ptx_warp *w, uint32_t mask, uint32_t number)
{
    struct ptx_launch *l = w->thread->launch;
    if (l->check != PTX_CHECK_FULL)
        return;
    ptx_shadow_open(w->cta);
    struct ptx_ordering *o = w->cta->ordering;
    struct meeting *m = o->meeting[number];
    if (!m)
        m = o->meeting[number] = kb_alloc(sizeof *m);
    for (uint32_t v = 0; v < o->warps; v++)
        m->row[v] = at_least(m->row[v], o->row[w->index][v]);
    m->row[w->index] = now(w);
    if (o->clocks[w->index])
        PTX_ACTIVE (mask, i) {
            const struct thread_order *t = thread_of(w, i);
            join(l, &m->known, t->known);
            join(l, &m->pending, t->pending);
            join(l, &m->pending, t->through);
        }
}

void ptx_shadow_passed(struct ptx_warp *w, uint32_t mask, uint32_t number)
{
    struct ptx_launch *l = w->thread->launch;
    if (l->check != PTX_CHECK_FULL)
        return;
    struct ptx_ordering *o = w->cta->ordering;
    const struct meeting *m = o->meeting[number];
    for (uint32_t v = 0; v < o->warps; v++)
        o->row[w->index][v] = at_least(o->row[w->index][v], m->row[v]);
    if (m->known || m->pending)
        o->clocks[w->index] = true;
    if (o->clocks[w->index])
        PTX_ACTIVE (mask, i) {
            struct thread_order *t = thread_of(w, i);
            join(l, &t->known, m->known);
            join(l, &t->through, m->pending);
        }
}

void ptx_shadow_met(struct ptx_cta *c, uint32_t number)
{
    if (c->warps[0].thread->launch->check != PTX_CHECK_FULL || !c->ordering->meeting[number])
        return;
    struct meeting *m = c->ordering->meeting[number];
    ptx_vector_forget(&m->known);
    ptx_vector_forget(&m->pending);
    memset(m->row, 0, sizeof m->row);
}

// What some know all know now.
static void share_clocks(struct ptx_launch *l, struct ptx_ordering *o)
{
    for (uint32_t i = 0; i < o->warps * PTX_LANES; i++) {
        struct thread_order *t = &o->threads[i];
        if (!o->clocks[i / PTX_LANES])
            continue;
        join(l, &o->known, t->known);
        join(l, &o->through, t->pending);
        join(l, &o->through, t->through);
        ptx_vector_forget(&t->known);
        ptx_vector_forget(&t->pending);
        ptx_vector_forget(&t->through);
    }
    memset(o->clocks, 0, sizeof o->clocks);
    struct ptx_vector *known = ptx_vector_use(o->known);
    join(l, &known, o->through);
    if (known == o->known)
        ptx_vector_forget(&o->through);
    ptx_vector_drop(known);
}

void ptx_shadow_barrier(struct ptx_cta *c)
{
    struct ptx_launch *l = c->warps[0].thread->launch;
    if (l->check != PTX_CHECK_FULL)
        return;
    ptx_shadow_open(c);
    struct ptx_ordering *o = c->ordering;
    uint32_t time = now(&c->warps[0]);
    for (uint32_t w = 0; w < o->warps; w++)
        for (uint32_t v = 0; v < o->warps; v++)
            o->row[w][v] = time;
    if (o->threads)
        share_clocks(l, o);
}

void ptx_shadow_warp_sync(struct ptx_warp *w)
{
    struct ptx_launch *l = w->thread->launch;
    if (l->check != PTX_CHECK_FULL)
        return;
    ptx_shadow_open(w->cta);
    struct ptx_ordering *o = w->cta->ordering;
    o->row[w->index][w->index] = now(w);
    if (!o->clocks[w->index])
        return;
    struct ptx_vector *known = NULL, *pending = NULL, *through = NULL;
    for (uint32_t i = 0; i < PTX_LANES; i++) {
        struct thread_order *t = thread_of(w, i);
        join(l, &known, t->known);
        join(l, &pending, t->pending);
        join(l, &through, t->through);
    }
    for (uint32_t i = 0; i < PTX_LANES; i++) {
        struct thread_order *t = thread_of(w, i);
        join(l, &t->known, known);
        join(l, &t->pending, pending);
        join(l, &t->through, through);
    }
    ptx_vector_drop(known);
    ptx_vector_drop(pending);
    ptx_vector_drop(through);
}
