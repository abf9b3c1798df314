// What is recorded, and what the events of a warp mean.
#include "profiles/trace.h"
#include "base/memory.h"
#include "base/text.h"
#include "profiles/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- what is recorded

void kb_trace_plan(uint64_t blocks, unsigned warps, unsigned capacity, size_t most_events, size_t most_warps,
                   struct kb_trace_plan *p)
{
    capacity = capacity < 1 ? 1 : capacity > KB_TRACE_CAPACITY ? KB_TRACE_CAPACITY : capacity;
    warps = warps ? warps : 1;
    size_t by_events = most_events / capacity / warps, by_warps = most_warps / warps;
    size_t room = by_events < by_warps ? by_events : by_warps;
    *p = (struct kb_trace_plan){.blocks = blocks, .warps = warps, .capacity = capacity};
    if (room < 1)
        room = 1;
    if (blocks <= room) {
        p->first = p->recorded = (unsigned)blocks;
        return;
    }
    p->middle = p->last = (unsigned)(room / 4);
    p->first = (unsigned)room - p->middle - p->last;
    if (p->middle) { // only so many have their turn when they stand evenly
        uint64_t between = blocks - p->first - p->last, step = (between + p->middle - 1) / p->middle;
        p->middle = (unsigned)((between + step - 1) / step);
    }
    p->recorded = p->first + p->middle + p->last;
}

uint64_t kb_trace_block(const struct kb_trace_plan *p, unsigned place)
{
    if (p->recorded == p->blocks || place < p->first)
        return place;
    if (place >= p->first + p->middle)
        return p->blocks - p->last + (place - p->first - p->middle);
    uint64_t between = p->blocks - p->first - p->last, step = (between + p->middle - 1) / p->middle;
    return p->first + (place - p->first) * step;
}

char *kb_trace_plan_text(const struct kb_trace_plan *p)
{
    if (p->recorded == p->blocks)
        return kb_format("all %llu block%s", (unsigned long long)p->blocks, p->blocks == 1 ? "" : "s");
    return kb_format("%u of %llu blocks: the first %u, %u in between, the last %u", p->recorded,
                     (unsigned long long)p->blocks, p->first, p->middle, p->last);
}

// ---- sections

void kb_trace_begin(struct kb_trace *t, bool emulated)
{
    *t = (struct kb_trace){.emulated = emulated, .ticks_per_us = NAN, .timer_step_ns = NAN};
    t->sections = kb_alloc((KB_TRACE_SECTIONS + 1) * sizeof *t->sections);
    t->sections[t->section_count++] = (struct kb_trace_section){
        .name = kb_strdup("outside sections"), .file = kb_strdup(""), .mean = NAN, .median = NAN, .max = NAN};
}

int kb_trace_add_section(struct kb_trace *t, const char *name, const char *file, int line, unsigned id)
{
    if (t->section_count > KB_TRACE_SECTIONS)
        return 0;
    t->sections[t->section_count] = (struct kb_trace_section){.name = kb_strdup(name),
                                                              .file = kb_strdup(file),
                                                              .line = line,
                                                              .id = id,
                                                              .mean = NAN,
                                                              .median = NAN,
                                                              .max = NAN};
    return t->section_count++;
}

static uint32_t section_of(struct kb_trace *t, unsigned id)
{
    for (int i = 1; i < t->section_count; i++)
        if (t->sections[i].id == id)
            return (uint32_t)i;
    char *name = kb_format("section 0x%x", id); // KB_SECTION of something that is no literal
    int added = kb_trace_add_section(t, name, "", 0, id);
    free(name);
    return (uint32_t)added;
}

void kb_trace_free(struct kb_trace *t)
{
    for (int i = 0; i < t->section_count; i++) {
        free(t->sections[i].name);
        free(t->sections[i].file);
    }
    for (int i = 0; i < t->launch_count; i++)
        free(t->launches[i].kernel);
    free(t->sections);
    free(t->launches);
    free(t->warps);
    free(t->spans);
    *t = (struct kb_trace){0};
}

// ---- clocks

enum { MOST_SMS = 1024 };

struct sm_clock {
    bool seen;
    unsigned long long clock, ns;
};

static void last_of_each(const struct kb_section_warp *w, size_t n, struct sm_clock *sms)
{
    for (size_t i = 0; i < n; i++)
        if (w[i].begin_clock && w[i].end_clock && w[i].sm < MOST_SMS && w[i].end_clock >= sms[w[i].sm].clock)
            sms[w[i].sm] = (struct sm_clock){true, w[i].end_clock, w[i].end_ns};
}

double kb_trace_rate(const struct kb_section_warp *before, size_t n_before, const struct kb_section_warp *after,
                     size_t n_after)
{
    enum { LEAST_NS = 50000 }; // fifty steps of a coarse timer
    struct sm_clock *a = kb_alloc(MOST_SMS * sizeof *a), *b = kb_alloc(MOST_SMS * sizeof *b);
    double *rates = kb_alloc(MOST_SMS * sizeof *rates);
    size_t n = 0;
    last_of_each(before, n_before, a);
    last_of_each(after, n_after, b);
    for (int i = 0; i < MOST_SMS; i++)
        if (a[i].seen && b[i].seen && b[i].clock > a[i].clock && b[i].ns >= a[i].ns + LEAST_NS)
            rates[n++] = (double)(b[i].clock - a[i].clock) * 1000 / (double)(b[i].ns - a[i].ns);
    kb_sort_samples(rates, (int)n);
    double rate = kb_median_sorted(rates, (int)n);
    free(a);
    free(b);
    free(rates);
    return rate >= 50 && rate <= 10000 ? rate : NAN; // MHz of no GPU: the clocks were stopped or set anew in between
}

// What is to be added to a multiprocessor's clock, so that all tell the same time. %globaltimer moves by steps, so
// that what it says is never late: the largest difference is the nearest to the truth.
static void align(struct kb_trace *t, const struct kb_section_warp *w, size_t n, double *offset)
{
    double least = INFINITY;
    size_t first = 0;
    while (first < n && !w[first].begin_ns)
        first++;
    uint64_t origin = first < n ? w[first].begin_ns : 0;
    t->aligned = !t->emulated && t->ticks_per_us > 0;
    for (int i = 0; i < MOST_SMS; i++)
        offset[i] = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        if (!w[i].begin_clock && !w[i].end_clock)
            continue;
        double *o = &offset[w[i].sm % MOST_SMS], clock = (double)w[i].begin_clock;
        double here = (t->aligned ? (double)(int64_t)(w[i].begin_ns - origin) * t->ticks_per_us / 1000 : 0) - clock;
        *o = t->emulated ? 0 : here > *o ? here : *o;
    }
    for (size_t i = 0; i < n; i++) {
        double begin = (double)w[i].begin_clock + offset[w[i].sm % MOST_SMS];
        least = (w[i].begin_clock || w[i].end_clock) && begin < least ? begin : least;
    }
    for (int i = 0; i < MOST_SMS && !t->emulated; i++)
        offset[i] -= isfinite(least) ? least : 0;
}

// The smallest step between two readings of the timer.
static double timer_step(const struct kb_section_warp *w, size_t n)
{
    double step = INFINITY;
    for (size_t i = 1; i < n; i++) {
        double d = fabs((double)w[i].begin_ns - (double)w[i - 1].begin_ns);
        step = w[i].begin_ns && w[i - 1].begin_ns && d > 0 && d < step ? d : step;
    }
    return isfinite(step) ? step : NAN;
}

// ---- the events of a warp

enum { BY_HAND = -1, MOST_OPEN = 64 };

struct open_sections { // the innermost last
    struct {
        int function; // BY_HAND: by KB_SECTION
        int depth;    // of blocks
        uint32_t section;
    } items[MOST_OPEN];
    int count;
};

// Down to the outermost one of this function that is at least so deep, and what was opened by hand since. False if the
// function has nothing open.
static bool close_to(struct open_sections *o, int function, int depth)
{
    int keep = o->count;
    bool own = false;
    for (int i = o->count; i-- > 0;) {
        own = own || o->items[i].function == function;
        if (o->items[i].function == function && o->items[i].depth >= depth)
            keep = i;
    }
    o->count = keep;
    return own;
}

static void open_one(struct open_sections *o, int function, int depth, uint32_t section)
{
    if (o->count == MOST_OPEN)
        return;
    o->items[o->count].function = function;
    o->items[o->count].depth = depth;
    o->items[o->count++].section = section;
}

// A function that is called inside a section counts for it, as it does for sections by samples: its own markers mean
// something only where its callers are in none. *begins: a section begins, maybe the same once more.
static uint32_t take_event(struct kb_trace *t, struct open_sections *o, unsigned what, bool *begins)
{
    int kind = (int)(what >> 30), function = (int)(what >> 24 & 63), depth = (int)(what >> 20 & 15);
    bool own = kind <= KB_SECTION_LEFT && close_to(o, function, depth);
    *begins = kind == KB_SECTION_PUSH || (kind == KB_SECTION_AT && (own || !o->count || !function));
    if (kind == KB_SECTION_AT && *begins)
        open_one(o, function, depth, section_of(t, what & KB_SECTION_ID_MASK));
    if (kind == KB_SECTION_PUSH)
        open_one(o, BY_HAND, 0, section_of(t, what & KB_SECTION_ID_MASK));
    if (kind == KB_SECTION_POP && o->count && o->items[o->count - 1].function == BY_HAND)
        o->count--;
    return o->count ? o->items[o->count - 1].section : 0;
}

static void add_span(struct kb_trace *t, struct kb_trace_warp *w, uint32_t begin, uint32_t section)
{
    struct kb_trace_span *last = w->count ? &t->spans[w->first + w->count - 1] : NULL;
    if (last && last->begin == begin) { // nothing happened in it
        last->section = section;
        return;
    }
    KB_GROW(t->spans, t->span_count, t->span_capacity);
    t->spans[t->span_count++] = (struct kb_trace_span){begin, section};
    w->count++;
}

static void add_warp(struct kb_trace *t, const struct kb_section_warp *raw, const unsigned long long *events,
                     unsigned capacity, struct kb_trace_warp w)
{
    unsigned kept = raw->events < capacity ? raw->events : capacity;
    bool unfinished = raw->end_clock < raw->begin_clock || !raw->end_clock;
    uint64_t length = unfinished ? 0 : raw->end_clock - raw->begin_clock, at = 0;
    bool is_long = length >> 31 != 0; // then a step back is a step of more than 2^31
    struct open_sections open = {.count = 0};
    uint32_t clock = (uint32_t)raw->begin_clock;
    if (unfinished) // its events were not counted: those that are there
        for (kept = 0; kept < capacity && events[kept];)
            kept++;
    w.first = t->span_count;
    w.lost = raw->events > capacity ? raw->events - capacity : 0;
    add_span(t, &w, 0, 0);
    for (unsigned i = 0; i < kept; i++) {
        uint32_t now = (uint32_t)events[i], step = now - clock;
        if (step >> 31 && !is_long) // lanes that parted ways overtook each other
            step = 0;
        else
            clock = now;
        at += step;
        if (!unfinished && at > length)
            at = length;
        bool begins;
        uint32_t section = take_event(t, &open, (unsigned)(events[i] >> 32), &begins);
        if (begins || section != t->spans[w.first + w.count - 1].section)
            add_span(t, &w, at > UINT32_MAX ? UINT32_MAX : (uint32_t)at, section);
    }
    w.end = w.begin + (int64_t)(unfinished ? at : length);
    KB_GROW(t->warps, t->warp_count, t->warp_capacity);
    t->warps[t->warp_count++] = w;
}

void kb_trace_add_launch(struct kb_trace *t, const char *kernel, const struct kb_trace_plan *p,
                         const struct kb_trace_raw *raw)
{
    size_t n = (size_t)p->recorded * p->warps;
    double *offset = kb_alloc(MOST_SMS * sizeof *offset), step = timer_step(raw->warps, n);
    int64_t begin = kb_trace_end(t);
    t->launches = kb_realloc(t->launches, sizeof *t->launches * (size_t)(t->launch_count + 1));
    struct kb_trace_launch *l = &t->launches[t->launch_count++];
    *l = (struct kb_trace_launch){.kernel = kb_strdup(kernel), .plan = *p, .begin = begin, .end = begin};
    align(t, raw->warps, n, offset);
    if (!t->emulated && !(step > t->timer_step_ns))
        t->timer_step_ns = step;
    for (size_t i = 0; i < n; i++) {
        const struct kb_section_warp *r = &raw->warps[i];
        if (!r->begin_clock && !r->end_clock)
            continue;
        int64_t at = (int64_t)((double)r->begin_clock + offset[r->sm % MOST_SMS]);
        struct kb_trace_warp w = {.begin = begin + (t->emulated ? 0 : at),
                                  .block = (uint32_t)kb_trace_block(p, (unsigned)(i / p->warps)),
                                  .sm = r->sm,
                                  .launch = (uint16_t)(t->launch_count - 1),
                                  .warp = (uint16_t)(i % p->warps)};
        l->unfinished += !r->end_clock;
        add_warp(t, r, raw->events + i * p->capacity, p->capacity, w);
        const struct kb_trace_warp *added = &t->warps[t->warp_count - 1];
        l->lost += added->lost;
        l->end = added->end > l->end ? added->end : l->end;
    }
    free(offset);
}

int64_t kb_trace_end(const struct kb_trace *t)
{
    return t->launch_count ? t->launches[t->launch_count - 1].end : 0;
}
