// Check "full": who wrote and read each element last, to find races and reads of what nobody wrote.
//
// All warps run on one host thread then, so that every access has a time, and two accesses of different threads to the
// same element are ordered if the later thread knows what the earlier one had done by then (order.h).
#include "base/memory.h"
#include "jit/ptx/async.h"
#include "jit/ptx/atomic.h"
#include "jit/ptx/builtin.h"
#include "jit/ptx/memory.h"
#include "jit/ptx/order.h"
#include "jit/ptx/undefined.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CELLS = 8 << 20, MOST_STORED = 32 }; // elements of one allocation, larger ones are not followed; bytes

struct past {                   // one access
    uint32_t time, thread, loc; // time 0: none; thread: over the whole grid
};
struct ptx_cell {
    struct past write, read[2];      // read[0] is the latest, read[1] the latest by another thread
    uint8_t write_scope, read_scope; // enum ptx_scope
    bool awaited;                    // a copy was started, and nobody waited for it yet
    bool by_proxy;                   // the asynchronous proxy wrote it
    uint32_t split;                  // a word of shared memory: where its bytes have cells of their own, +1
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
    uint8_t *local; // by warp, lane and byte of local memory: written?
    size_t local_bytes;
    struct store stores[PTX_LANES]; // of the instruction under way
    int store_count;
};

static uint32_t now(const struct ptx_warp *w)
{
    return ++w->thread->launch->time;
}

void ptx_shadow_open(struct ptx_cta *c)
{
    if (c->shadow)
        return;
    const struct ptx_launch *l = c->warps[0].thread->launch;
    struct ptx_shadow *s = kb_alloc(sizeof *s);
    s->cells = kb_alloc((l->shared_end / 4 + 1) * sizeof *s->cells);
    s->local_bytes = (size_t)l->warps * PTX_LANES * l->local_bytes;
    s->local = kb_alloc(s->local_bytes + 1);
    c->shadow = s;
    c->ordering = ptx_ordering_new(l);
}

void ptx_shadow_reset(struct ptx_cta *c)
{
    struct ptx_shadow *s = c->shadow;
    if (!s)
        return;
    const struct ptx_launch *l = c->warps[0].thread->launch;
    memset(s->cells, 0, (l->shared_end / 4 + 1) * sizeof *s->cells);
    s->bytes_count = 0;
    memset(s->local, 0, s->local_bytes);
    ptx_ordering_reset(c->ordering);
}

void ptx_shadow_free(struct ptx_shadow *s)
{
    if (!s)
        return;
    free(s->cells);
    free(s->bytes);
    free(s->local);
    free(s);
}

void ptx_shadow_local(struct ptx_warp *w, uint32_t lane, uint64_t offset, uint64_t bytes)
{
    if (w->thread->launch->check != PTX_CHECK_FULL || offset + bytes > w->local_bytes)
        return;
    ptx_shadow_open(w->cta);
    struct ptx_shadow *s = w->cta->shadow;
    memset(s->local + ((size_t)w->index * PTX_LANES + lane) * w->local_bytes + offset, 1, bytes);
}

struct current { // one lane's access
    struct ptx_warp *w;
    uint64_t host;
    uint32_t bytes;
    const struct ptx_op *o;
    uint32_t lane, thread, time, part; // part: bytes of one element of a vector access
    uint32_t first;                    // first thread of the block
    const uint32_t *row;               // up to when the warp knows the warps of its block
    bool reads, writes;                // reads: a value
    uint8_t scope;                     // enum ptx_scope
    bool reported;                     // one report a lane is enough
    bool met;                          // lanes of this instruction store to one element
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
            snprintf(text, size, "%s[%" PRIu64 "]", ptx_plain_name(l->ranges[i].name),
                     (at - l->ranges[i].low) / (l->ranges[i].element_bytes > 1 ? l->ranges[i].element_bytes : unit));
}

// True if what happened at p is before what the current lane does now.
static bool ordered(const struct current *c, const struct past *p)
{
    if (!p->time || p->thread == c->thread || p->time == c->time)
        return true;
    uint32_t t = p->thread - c->first;
    if (t < c->w->thread->launch->threads && p->time <= c->row[t / PTX_LANES])
        return true;
    return ptx_order_of(c->w, c->lane, p->thread, p->time) == PTX_ORDERED;
}

static void set_lane(struct current *c, uint32_t lane)
{
    c->lane = lane;
    c->thread = c->first + c->w->index * PTX_LANES + lane;
    c->reported = c->local = false;
    c->global = NULL;
}

// Whether somebody read the element, before the write, in a way that may have left it in a cache.
static bool read_before(const struct ptx_cell *cell)
{
    bool cached = cell->read_scope == PTX_WEAK;
    return cached && ((cell->read[0].time && cell->read[0].time < cell->write.time) ||
                      (cell->read[1].time && cell->read[1].time < cell->write.time));
}

struct verdict {
    const char *kind; // NULL: nothing to report
    const char *missing, *more;
};

// What two accesses are that are not ordered: the current one and p of this cell.
static struct verdict judge(const struct current *c, const struct ptx_cell *cell, const struct past *p)
{
    uint32_t t = p->thread - c->first;
    bool of_write = p == &cell->write, same_block = t < c->w->thread->launch->threads;
    if (same_block && t / PTX_LANES == c->w->index)
        return (struct verdict){"race_in_warp", "no __syncwarp (lanes need not run in lockstep)", ""};
    enum ptx_ordered how = ptx_order_of(c->w, c->lane, p->thread, p->time);
    struct verdict v = {"race", same_block ? "no barrier" : "no ordering", ""};
    if (of_write && c->o->look && cell->write_scope != PTX_WEAK)
        return (struct verdict){"race_look", v.missing, "; only a look that an atomic operation behind it repeats"};
    if (how == PTX_UNORDERED && c->scope && (of_write ? cell->write_scope : cell->read_scope))
        v.more = "; the scope of one of them is its block only";
    if (how == PTX_UNORDERED)
        return v;
    if (c->writes || (how == PTX_SEEN_THROUGH_BARRIER && !read_before(cell)))
        return (struct verdict){NULL, NULL, NULL};
    v.missing = "no __threadfence behind the look that tells of it";
    if (!read_before(cell) || c->scope)
        v.kind = "race_unacquired";
    else
        v.more = ": what was read there before may come from the cache once more";
    return v;
}

// Where a lane of the current instruction reads or writes: "thread (1,0,0) of block (0,0,0) reads s[3] of shared
// memory".
static void say_access(const struct current *c, uint64_t at, uint32_t unit, char *text, size_t size)
{
    const uint32_t *id = c->w->cta->ctaid;
    char where[160];
    name_place(c, at, unit, where, sizeof where);
    snprintf(text, size, "thread (%u,%u,%u) of block (%u,%u,%u) %s %s%s", c->w->tid[0][c->lane], c->w->tid[1][c->lane],
             c->w->tid[2][c->lane], id[0], id[1], id[2], c->writes ? "writes" : "reads", where,
             c->global || strchr(where, '[') ? "" : " of shared memory");
}

// The other one: "thread (0,0,0) of this block wrote at a.cu:3".
static void say_past(const struct current *c, const struct past *p, const char *verb, char *text, size_t size)
{
    const struct ptx_launch *l = c->w->thread->launch;
    const uint32_t *of = l->block;
    uint64_t block = p->thread / l->threads, t = p->thread % l->threads;
    char other[80] = "this block";
    if (block != c->w->cta->number)
        snprintf(other, sizeof other, "block (%" PRIu64 ",%" PRIu64 ",%" PRIu64 ")", block % l->grid[0],
                 block / l->grid[0] % l->grid[1], block / l->grid[0] / l->grid[1]);
    snprintf(text, size, "thread (%" PRIu64 ",%" PRIu64 ",%" PRIu64 ") of %s %s at %s", t % of[0], t / of[0] % of[1],
             t / of[0] / of[1], other, verb, ptx_place_text(ptx_place_of(l->module, p->loc)));
}

static void report_race(struct current *c, const struct ptx_cell *cell, const struct past *p, uint64_t at,
                        uint32_t unit)
{
    struct verdict v = c->reported ? (struct verdict){0} : judge(c, cell, p);
    if (!v.kind)
        return;
    c->reported = true;
    bool wrote = p == &cell->write, both_store = wrote && c->writes && !strncmp(c->o->name, "st.", 3);
    char access[360], past[260], text[800];
    say_access(c, at, unit, access, sizeof access);
    say_past(c, p, wrote ? "wrote" : "read", past, sizeof past);
    snprintf(text, sizeof text, "%s, which %s, with %s in between%s", access, past, v.missing, v.more);
    struct ptx_shadow *s = c->w->cta->shadow;
    if (!both_store || c->bytes > MOST_STORED || s->store_count == PTX_LANES) {
        ptx_note(c->w, c->o->loc, v.kind, "%s", text);
        return;
    }
    struct store *store = &s->stores[s->store_count++];
    *store = (struct store){
        .host = c->host, .bytes = c->bytes, .loc = c->o->loc, .in_warp = !strcmp(v.kind, "race_in_warp")};
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

static void report_awaited(struct current *c, const struct ptx_cell *cell, uint64_t at, uint32_t unit)
{
    char access[400];
    const struct ptx_launch *l = c->w->thread->launch;
    say_access(c, at, unit, access, sizeof access);
    ptx_note(c->w, c->o->loc, "copy_not_awaited", "%s, whose copy by %s at %s nobody waited for", access,
             cell->by_proxy ? "cp.async.bulk" : "cp.async", ptx_place_text(ptx_place_of(l->module, cell->write.loc)));
    c->reported = true;
}

static void check_proxy(struct current *c, const struct ptx_cell *cell, uint64_t at, uint32_t unit)
{
    const struct past *p = &cell->write;
    if (c->reported || !p->time || cell->by_proxy || ptx_order_proxied(c->w, c->lane, p->thread, p->time))
        return;
    char access[400], past[300];
    say_access(c, at, unit, access, sizeof access);
    say_past(c, p, "wrote", past, sizeof past);
    ptx_note(c->w, c->o->loc, "proxy_fence", "%s by %s, which %s, with no fence.proxy.async in between", access,
             c->o->name, past);
    c->reported = true;
}

// The values of strong stores arrive in any order unless fences keep one. A load that decides nothing cannot be one
// that waits for its value: what it reads was told by a later store of that thread.
static void check_told(struct current *c, const struct ptx_cell *cell, uint64_t at, uint32_t unit)
{
    const struct past *p = &cell->write;
    uint32_t told = !c->reported && c->o->data ? ptx_order_saw_since(c->w, c->lane, p->thread, p->time) : 0;
    if (!told)
        return;
    char access[400], past[300];
    const struct ptx_launch *l = c->w->thread->launch;
    say_access(c, at, unit, access, sizeof access);
    say_past(c, p, "wrote", past, sizeof past);
    ptx_note(c->w, c->o->loc, "race", "%s, which %s, with no fence before the later store that tells of it, at %s",
             access, past, ptx_place_text(ptx_place_of(l->module, told)));
    c->reported = true;
}

// Both strong, and each reaches the other's thread: no race, whatever comes first.
static bool together(const struct current *c, const struct past *p, uint8_t scope)
{
    uint32_t t = p->thread - c->first;
    bool same_block = t < c->w->thread->launch->threads;
    return c->scope && scope && (same_block || (c->scope == PTX_SCOPE_DEVICE && scope == PTX_SCOPE_DEVICE));
}

static void after_write(struct ptx_cell *cell, struct current *c, uint64_t at, uint32_t unit)
{
    const struct past *p = &cell->write;
    uint32_t t = p->thread - c->first;
    if (cell->awaited && c->reads) {
        report_awaited(c, cell, at, unit);
        return;
    }
    bool both = together(c, p, cell->write_scope), other_block = t >= c->w->thread->launch->threads;
    if (!ordered(c, p)) {
        if (!both)
            report_race(c, cell, p, at, unit);
        else if (other_block && !c->writes)
            check_told(c, cell, at, unit);
    }
    if (both && other_block && c->reads && p->time != c->time)
        ptx_order_saw(c->w, c->lane, p->thread, p->time, p->loc);
}

// at, unit: the element in texts.
static void touch(struct ptx_cell *cell, struct current *c, uint64_t at, uint32_t unit)
{
    const struct past me = {c->time, c->thread, c->o->loc};
    if (cell->write.time && cell->write.thread != c->thread)
        after_write(cell, c, at, unit);
    else if (cell->awaited && c->reads)
        report_awaited(c, cell, at, unit);
    if (c->o->by_proxy && !c->writes && !c->global)
        check_proxy(c, cell, at, unit);
    for (int k = 0; c->writes && k < 2; k++)
        if (!ordered(c, &cell->read[k]) && !together(c, &cell->read[k], cell->read_scope)) {
            report_race(c, cell, &cell->read[k], at, unit);
            break;
        }
    if (c->writes) {
        c->met |= cell->write.time == c->time && cell->write.thread != c->thread;
        cell->write = me;
        cell->write_scope = c->scope;
        cell->awaited = c->o->later;
        cell->by_proxy = c->o->by_proxy;
    } else if (!c->o->look) {
        if (cell->read[0].thread != me.thread)
            cell->read[1] = cell->read[0];
        cell->read[0] = me;
        cell->read_scope = c->scope;
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
    ptx_shadow_open(w->cta);
    if (o->order.scope != PTX_WEAK) // first: it acquires what it meets
        ptx_order_strong(w, o, x);
    uint32_t part = o->vec > 1 && x->bytes % o->vec == 0 ? x->bytes / o->vec : x->bytes, time = now(w);
    uint64_t shared = (uint64_t)w->cta->shared, local = (uint64_t)w->local;
    struct current c = {.w = w,
                        .o = o,
                        .bytes = x->bytes,
                        .time = time,
                        .part = part,
                        .first = (uint32_t)(w->cta->number * w->thread->launch->threads),
                        .row = ptx_order_row(w),
                        .reads = reads_value(o),
                        .writes = o->write,
                        .scope = o->guess ? PTX_SCOPE_DEVICE : o->order.scope};
    PTX_ACTIVE (x->mask, i) {
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
    if (c.met && !strncmp(o->name, "st.", 3))
        ptx_compare_lanes(w, o, x);
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

static void stamp(struct ptx_cell *cell, uint32_t thread, uint32_t time)
{
    if (!cell->awaited || cell->write.thread != thread)
        return;
    cell->awaited = false;
    cell->write.time = time;
}

void ptx_shadow_copied(struct ptx_cta *c, uint32_t thread, const void *host, uint32_t bytes)
{
    struct ptx_launch *l = c->warps[0].thread->launch;
    uint64_t at = (uint64_t)host, shared = (uint64_t)c->shared;
    if (l->check != PTX_CHECK_FULL || !c->shadow || !bytes)
        return;
    thread += (uint32_t)(c->number * l->threads);
    l->time++;
    if (at >= shared && at < shared + l->shared_end) {
        struct ptx_shadow *s = c->shadow;
        for (uint64_t k = (at - shared) / 4; k <= (at - shared + bytes - 1) / 4; k++) {
            struct ptx_cell *word = &s->cells[k], *part = word->split ? s->bytes[word->split - 1] : word;
            for (int i = 0; i < (word->split ? 4 : 1); i++)
                stamp(&part[i], thread, l->time);
        }
        return;
    }
    struct ptx_allocation *a = ptx_space_find(l->space, at);
    uint32_t unit = !a || a->variable || !a->element_bytes ? 1 : a->element_bytes;
    for (uint64_t k = 0; a && a->cells && k < bytes; k += unit)
        stamp(&a->cells[(at - a->low + k) / unit], thread, l->time);
}

void ptx_shadow_end(const struct ptx_space_table *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        free(t->items[i]->cells);
        t->items[i]->cells = NULL;
    }
}
