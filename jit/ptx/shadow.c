// Check "full": who wrote and read each element last, to find races and reads of what nobody wrote.
//
// All warps run on one host thread then, so that every access has a time, and two accesses of different threads to the
// same element are ordered if the second thread has synchronised since the first one: by a barrier of the block, by a
// warp operation with a member mask, or by a strong access or fence of its own (what it acquired that way is taken to
// be all that happened before). That never accuses a correct kernel; it can miss a race that such a point hides.
#include "base/memory.h"
#include "jit/ptx/async.h"
#include "jit/ptx/atomic.h"
#include "jit/ptx/builtin.h"
#include "jit/ptx/memory.h"
#include "jit/ptx/undefined.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACTIVE(mask, i) for (uint32_t m_ = (mask), i; m_ && ((i = (uint32_t)__builtin_ctz(m_)), 1); m_ &= m_ - 1)

enum { MOST_CELLS = 8 << 20, MOST_STORED = 32 }; // elements of one allocation, larger ones are not followed; bytes

struct past {                   // one access
    uint32_t time, thread, loc; // time 0: none; thread: over the whole grid
};
struct ptx_cell {
    struct past write, read[2]; // read[0] is the latest, read[1] the latest by another thread
    bool write_strong, read_strong;
    uint32_t split; // a word of shared memory: where its bytes have cells of their own, +1
};

// A store that races with another: whether it changes anything shows when it is done.
struct store {
    uint64_t host;
    uint32_t bytes, loc;
    bool in_warp;
    unsigned char old[MOST_STORED];
    char text[800];
};

struct ptx_shadow {         // of one block
    struct ptx_cell *cells; // by word of shared memory
    struct ptx_cell (*bytes)[4];
    uint32_t bytes_count, bytes_cap;
    uint32_t *synced; // by thread: when it synchronised last
    uint32_t barrier_time, warp_time[PTX_LANES];
    uint8_t *local; // by warp, lane and byte of local memory: written?
    size_t local_bytes;
    struct store stores[PTX_LANES]; // of the instruction under way
    int store_count;
};

static uint32_t now(const struct ptx_warp *w)
{
    return ++w->thread->launch->time;
}

static struct ptx_shadow *block_shadow(struct ptx_cta *c)
{
    if (c->shadow)
        return c->shadow;
    const struct ptx_launch *l = c->warps[0].thread->launch;
    struct ptx_shadow *s = kb_alloc(sizeof *s);
    s->cells = kb_alloc((l->shared_end / 4 + 1) * sizeof *s->cells);
    s->synced = kb_alloc(l->warps * PTX_LANES * sizeof *s->synced);
    s->local_bytes = (size_t)l->warps * PTX_LANES * l->local_bytes;
    s->local = kb_alloc(s->local_bytes + 1);
    return c->shadow = s;
}

void ptx_shadow_reset(struct ptx_cta *c)
{
    struct ptx_shadow *s = c->shadow;
    if (!s)
        return;
    const struct ptx_launch *l = c->warps[0].thread->launch;
    memset(s->cells, 0, (l->shared_end / 4 + 1) * sizeof *s->cells);
    s->bytes_count = 0;
    memset(s->synced, 0, l->warps * PTX_LANES * sizeof *s->synced);
    memset(s->warp_time, 0, sizeof s->warp_time);
    s->barrier_time = 0;
    memset(s->local, 0, s->local_bytes);
}

void ptx_shadow_free(struct ptx_shadow *s)
{
    if (!s)
        return;
    free(s->cells);
    free(s->bytes);
    free(s->synced);
    free(s->local);
    free(s);
}

void ptx_shadow_barrier(struct ptx_cta *c)
{
    if (c->warps[0].thread->launch->check != PTX_CHECK_FULL)
        return;
    struct ptx_shadow *s = block_shadow(c);
    uint32_t latest = 0, threads = c->warp_count * PTX_LANES;
    s->barrier_time = now(&c->warps[0]);
    for (uint32_t i = 0; i < threads; i++) // what one thread acquired, all have now
        latest = s->synced[i] > latest ? s->synced[i] : latest;
    for (uint32_t i = 0; i < threads; i++)
        s->synced[i] = latest;
}

void ptx_shadow_warp_sync(struct ptx_warp *w)
{
    if (w->thread->launch->check != PTX_CHECK_FULL)
        return;
    struct ptx_shadow *s = block_shadow(w->cta);
    uint32_t latest = 0, *synced = s->synced + w->index * PTX_LANES;
    s->warp_time[w->index] = now(w);
    for (int i = 0; i < PTX_LANES; i++)
        latest = synced[i] > latest ? synced[i] : latest;
    for (int i = 0; i < PTX_LANES; i++)
        synced[i] = latest;
}

void ptx_shadow_strong(struct ptx_warp *w, uint32_t mask)
{
    if (w->thread->launch->check != PTX_CHECK_FULL)
        return;
    struct ptx_shadow *s = block_shadow(w->cta);
    uint32_t time = now(w);
    ACTIVE(mask, i) s->synced[w->index * PTX_LANES + i] = time;
}

void ptx_shadow_local(struct ptx_warp *w, uint32_t lane, uint64_t offset, uint64_t bytes)
{
    if (w->thread->launch->check != PTX_CHECK_FULL || offset + bytes > w->local_bytes)
        return;
    struct ptx_shadow *s = block_shadow(w->cta);
    memset(s->local + ((size_t)w->index * PTX_LANES + lane) * w->local_bytes + offset, 1, bytes);
}

struct current { // one lane's access
    struct ptx_warp *w;
    uint64_t host;
    uint32_t bytes;
    const struct ptx_op *o;
    uint32_t lane, thread, time, part; // part: bytes of one element of a vector access
    uint32_t first, since[3];   // first thread of the block; when the lane synchronised with others, with those of
                                // its block, with those of its warp
    bool reads, writes, strong; // reads: a value
    bool reported;              // one report a lane is enough
    struct ptx_allocation *global, *last;
    bool local;
};

// An exchange may be meant as a store.
static bool reads_value(const struct ptx_op *o)
{
    return !o->write || (o->class == PTX_CLASS_ATOMIC && o->sub != PTX_ATOM_EXCH);
}

// A read is of something that nobody wrote if not one byte of it was written: a copy of a struct reads its padding too.
// That holds for the access as a whole, for its elements only where these are values for sure.
static uint32_t value_bytes(const struct current *c, uint32_t bytes, uint32_t element)
{
    const char *type = strrchr(c->o->name, '.');
    bool values = c->part == element || (type && (!strcmp(type, ".f32") || !strcmp(type, ".f64")));
    return values ? c->part : bytes;
}

// "y[5]", "s[5]": where an element of `unit` bytes lies.
static void name_place(const struct current *c, uint64_t at, uint32_t unit, char *text, size_t size)
{
    const struct ptx_launch *l = c->w->thread->launch;
    if (c->global) {
        snprintf(text, size, "%s[%" PRIu64 "]", ptx_plain_name(c->global->name), (at - c->global->low) / unit);
        return;
    }
    snprintf(text, size, "offset %" PRIu64, at);
    for (int i = 0; i < l->range_count && !c->local; i++)
        if (at >= l->ranges[i].low && at < l->ranges[i].high)
            snprintf(text, size, "%s[%" PRIu64 "]", ptx_plain_name(l->ranges[i].name), (at - l->ranges[i].low) / unit);
}

// True if what happened at p is before what the current lane does now.
static bool ordered(const struct current *c, const struct past *p)
{
    if (!p->time || p->time < c->since[0] || p->thread == c->thread || p->time == c->time)
        return true;
    uint32_t t = p->thread - c->first;
    if (p->thread < c->first || t >= c->w->thread->launch->threads)
        return false;
    return p->time < c->since[t / PTX_LANES == c->w->index ? 2 : 1];
}

static void set_lane(struct current *c, uint32_t lane)
{
    const struct ptx_shadow *s = c->w->cta->shadow;
    uint32_t number = c->w->index * PTX_LANES + lane, own = s->synced[number], in_warp = s->warp_time[c->w->index];
    c->lane = lane;
    c->thread = c->first + number;
    c->since[0] = own;
    c->since[1] = own > s->barrier_time ? own : s->barrier_time;
    c->since[2] = c->since[1] > in_warp ? c->since[1] : in_warp;
    c->reported = c->local = false;
    c->global = NULL;
}

static void report_race(struct current *c, const struct past *p, uint64_t at, uint32_t unit, const char *first,
                        const char *second)
{
    if (c->reported)
        return;
    c->reported = true;
    const struct ptx_launch *l = c->w->thread->launch;
    const uint32_t *id = c->w->cta->ctaid, *of = l->block;
    uint64_t block = p->thread / l->threads, t = p->thread % l->threads;
    bool same_block = block == c->w->cta->number, same_warp = same_block && t / PTX_LANES == c->w->index;
    char place[300], where[160], other[80], text[800];
    snprintf(other, sizeof other, "block (%" PRIu64 ",%" PRIu64 ",%" PRIu64 ")", block % l->grid[0],
             block / l->grid[0] % l->grid[1], block / l->grid[0] / l->grid[1]);
    snprintf(place, sizeof place, "%s", ptx_place_text(ptx_place_of(l->module, p->loc)));
    name_place(c, at, unit, where, sizeof where);
    snprintf(text, sizeof text,
             "thread (%u,%u,%u) of block (%u,%u,%u) %s %s%s, which thread (%" PRIu64 ",%" PRIu64 ",%" PRIu64 ") of %s"
             " %s at %s, with %s in between",
             c->w->tid[0][c->lane], c->w->tid[1][c->lane], c->w->tid[2][c->lane], id[0], id[1], id[2], second, where,
             c->global || strchr(where, '[') ? "" : " of shared memory", t % of[0], t / of[0] % of[1],
             t / of[0] / of[1], same_block ? "this block" : other, first, place,
             same_warp    ? "no __syncwarp (lanes need not run in lockstep)"
             : same_block ? "no barrier"
                          : "no ordering");
    struct ptx_shadow *s = c->w->cta->shadow;
    bool both_store = !strcmp(first, "wrote") && c->writes && !strncmp(c->o->name, "st.", 3);
    if (!both_store || c->bytes > MOST_STORED || s->store_count == PTX_LANES) {
        ptx_note(c->w, c->o->loc, same_warp ? "race_in_warp" : "race", "%s", text);
        return;
    }
    struct store *store = &s->stores[s->store_count++];
    *store = (struct store){.host = c->host, .bytes = c->bytes, .loc = c->o->loc, .in_warp = same_warp};
    memcpy(store->old, (const void *)c->host, c->bytes);
    memcpy(store->text, text, sizeof text);
}

void ptx_shadow_stored(struct ptx_warp *w)
{
    struct ptx_shadow *s = w->cta->shadow;
    for (int i = 0; s && i < s->store_count; i++) {
        const struct store *x = &s->stores[i];
        if (!memcmp(x->old, (const void *)x->host, x->bytes))
            ptx_note(w, x->loc, "race_same_value", "%s; both write the same value", x->text);
        else
            ptx_note(w, x->loc, x->in_warp ? "race_in_warp" : "race", "%s", x->text);
    }
    if (s)
        s->store_count = 0;
}

// at, unit: the element in texts.
static void touch(struct ptx_cell *cell, struct current *c, uint64_t at, uint32_t unit)
{
    const struct past me = {c->time, c->thread, c->o->loc};
    bool strong = c->strong;
    if (!(strong && cell->write_strong) && !ordered(c, &cell->write))
        report_race(c, &cell->write, at, unit, "wrote", c->writes ? "writes" : "reads");
    for (int k = 0; c->writes && k < 2; k++)
        if (!(strong && cell->read_strong) && !ordered(c, &cell->read[k])) {
            report_race(c, &cell->read[k], at, unit, "read", "writes");
            break;
        }
    if (c->writes) {
        cell->write = me;
        cell->write_strong = strong;
    } else {
        if (cell->read[0].thread != me.thread)
            cell->read[1] = cell->read[0];
        cell->read[0] = me;
        cell->read_strong = strong;
    }
}

static void unwritten(const struct current *c, uint64_t at, uint32_t unit, const char *space)
{
    char where[160];
    const uint32_t *id = c->w->cta->ctaid;
    if (ptx_in_toolkit(c->w->thread->launch->module, c->o->loc)) // CUB's merge reads one key too far, and drops it
        return;
    name_place(c, at, unit, where, sizeof where);
    ptx_note(c->w, c->o->loc, "uninitialised", "thread (%u,%u,%u) of block (%u,%u,%u) reads %s%s, which nobody wrote",
             c->w->tid[0][c->lane], c->w->tid[1][c->lane], c->w->tid[2][c->lane], id[0], id[1], id[2], where, space);
}

static bool none_written(const struct ptx_shadow *s, uint64_t offset, uint32_t n)
{
    for (uint64_t k = offset; k < offset + n;) {
        const struct ptx_cell *word = &s->cells[k / 4];
        const struct ptx_cell *cell = word->split ? &s->bytes[word->split - 1][k % 4] : word;
        if (cell->write.time)
            return false;
        k = word->split ? k + 1 : (k / 4 + 1) * 4;
    }
    return true;
}

// Words are followed as a whole until somebody touches a part of one.
static struct ptx_cell *byte_cell(struct ptx_shadow *s, uint64_t offset)
{
    struct ptx_cell *word = &s->cells[offset / 4];
    if (!word->split) {
        KB_GROW(s->bytes, s->bytes_count, s->bytes_cap);
        for (int k = 0; k < 4; k++)
            s->bytes[s->bytes_count][k] = *word;
        word->split = ++s->bytes_count;
    }
    return &s->bytes[word->split - 1][offset % 4];
}

static void touch_shared(struct current *c, uint64_t offset, uint32_t bytes)
{
    struct ptx_shadow *s = c->w->cta->shadow;
    if (offset < PTX_RESERVED_SHARED) // the toolkit's own
        return;
    for (uint32_t k = 0; k < bytes && c->reads; k += c->part) {
        if (!none_written(s, offset + k, c->part))
            continue;
        if (value_bytes(c, bytes, 0) == c->part || none_written(s, offset, bytes))
            unwritten(c, offset + k, c->part, " of shared memory");
        break;
    }
    for (uint64_t k = offset; k < offset + bytes;) {
        bool whole = k % 4 == 0 && offset + bytes - k >= 4 && !s->cells[k / 4].split;
        touch(whole ? &s->cells[k / 4] : byte_cell(s, k), c, offset, c->part);
        k += whole ? 4 : 1;
    }
}

static void touch_content(const struct current *c, struct ptx_allocation *a, uint64_t address, uint32_t bytes)
{
    uint32_t unit = a->element_bytes > 1 ? a->element_bytes : c->part;
    uint32_t value = value_bytes(c, bytes, a->element_bytes);
    for (uint32_t k = 0; k < bytes && c->reads; k += value)
        if (ptx_is_undefined(a, address + k, value)) {
            unwritten(c, address + k, unit, "");
            break;
        }
    if (c->writes)
        ptx_define(a, address, bytes);
}

static void touch_global(struct current *c, uint64_t address, uint32_t bytes)
{
    struct ptx_allocation *a = c->last;
    if (!a || address < a->low || address >= a->high)
        a = c->last = ptx_space_find(c->w->thread->launch->space, address);
    if (!a || a->read_only)
        return;
    c->global = a;
    if (a->undefined)
        touch_content(c, a, address, bytes);
    uint32_t unit = a->variable || !a->element_bytes ? 1 : a->element_bytes;
    if (a == &c->w->thread->launch->heap->allocation || (a->high - a->low) / unit > MOST_CELLS)
        return; // blocks of the heap change hands
    if (!a->cells)
        a->cells = kb_alloc(((a->high - a->low) / unit + 1) * sizeof *a->cells);
    uint64_t k = (address - a->low) >> __builtin_ctz(unit), end = address - a->low + bytes; // unit: a power of two
    for (; k * unit < end; k++)
        touch(&a->cells[k], c, a->low + k * unit, unit == 1 ? c->part : unit);
}

static void touch_local(struct current *c, uint64_t offset, uint32_t bytes)
{
    uint8_t *written =
        c->w->cta->shadow->local + ((size_t)c->w->index * PTX_LANES + c->lane) * c->w->local_bytes + offset;
    c->local = true;
    uint32_t value = value_bytes(c, bytes, 0);
    for (uint32_t k = 0; k < bytes && c->reads; k += value)
        if (!memchr(written + k, 1, value)) {
            unwritten(c, offset + k, c->part, " of local memory");
            break;
        }
    if (c->writes)
        memset(written, 1, bytes);
}

void ptx_shadow(struct ptx_warp *w, const struct ptx_op *o, const struct ptx_access *x)
{
    block_shadow(w->cta);
    if (o->strong) // first: it acquires what it meets
        ptx_shadow_strong(w, x->mask);
    uint32_t part = o->vec > 1 && x->bytes % o->vec == 0 ? x->bytes / o->vec : x->bytes, time = now(w);
    uint64_t shared = (uint64_t)w->cta->shared, local = (uint64_t)w->local;
    struct current c = {.w = w,
                        .o = o,
                        .bytes = x->bytes,
                        .time = time,
                        .part = part,
                        .first = (uint32_t)(w->cta->number * w->thread->launch->threads),
                        .reads = reads_value(o),
                        .writes = o->write,
                        .strong = o->strong || o->guess};
    ACTIVE(x->mask, i)
    {
        uint64_t at = x->address[i];
        c.host = at;
        set_lane(&c, i);
        if (at >= shared && at < shared + w->thread->launch->shared_end)
            touch_shared(&c, at - shared, x->bytes);
        else if (w->local && at >= local && at < local + (uint64_t)w->local_bytes * PTX_LANES)
            touch_local(&c, at - local - (uint64_t)i * w->local_bytes, x->bytes);
        else
            touch_global(&c, at, x->bytes);
    }
}

void ptx_shadow_range(struct ptx_warp *w, const struct ptx_op *o, uint32_t lane, uint64_t host, uint32_t bytes,
                      uint32_t element)
{
    if (w->thread->launch->check != PTX_CHECK_FULL)
        return;
    for (uint32_t k = 0; k < bytes; k += element) {
        struct ptx_access x = {.mask = 1u << lane, .bytes = element < bytes - k ? element : bytes - k};
        x.address[lane] = host + k;
        ptx_shadow(w, o, &x);
    }
}

void ptx_shadow_end(const struct ptx_space_table *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        free(t->items[i]->cells);
        t->items[i]->cells = NULL;
    }
}
