// What the spans of a trace sum up to: sections, launches.
#include "base/memory.h"
#include "profiles/order.h"
#include "profiles/trace.h"

#include <math.h>
#include <stdlib.h>

static int64_t span_ticks(const struct kb_trace *t, const struct kb_trace_warp *w, uint32_t i)
{
    const struct kb_trace_span *s = &t->spans[w->first + i];
    int64_t end = i + 1 < w->count ? (int64_t)s[1].begin : w->end - w->begin;
    return end > s->begin ? end - s->begin : 0;
}

// ---- sections

// Ticks of all spans of a section into values; the most that one warp has in it.
static size_t spans_of(const struct kb_trace *t, uint32_t section, double *values, int64_t *most)
{
    size_t n = 0;
    *most = 0;
    for (uint32_t k = 0; k < t->warp_count; k++) {
        const struct kb_trace_warp *w = &t->warps[k];
        int64_t own = 0;
        for (uint32_t i = 0; i < w->count; i++)
            if (t->spans[w->first + i].section == section) {
                int64_t ticks = span_ticks(t, w, i);
                values[n++] = (double)ticks;
                own += ticks;
            }
        *most = own > *most ? own : *most;
    }
    return n;
}

static void sum_section(struct kb_trace *t, uint32_t index, double *values)
{
    struct kb_trace_section *s = &t->sections[index];
    int64_t most;
    size_t n = spans_of(t, index, values, &most);
    s->spans = n;
    s->ticks = 0;
    s->mean = s->median = s->max = s->imbalance = NAN;
    if (!n)
        return;
    for (size_t i = 0; i < n; i++)
        s->ticks += (uint64_t)values[i];
    kb_sort_samples(values, (int)n);
    s->mean = (double)s->ticks / (double)n;
    s->max = values[n - 1];
    s->median = kb_median_sorted(values, (int)n);
    s->imbalance = s->ticks ? (double)most / ((double)s->ticks / t->warp_count) : NAN;
}

// ---- launches

struct block_time {
    int64_t begin, end;
    uint32_t sm;
};

static size_t blocks_of(const struct kb_trace *t, int launch, struct block_time *blocks)
{
    size_t n = 0;
    const struct kb_trace_warp *before = NULL;
    for (uint32_t i = 0; i < t->warp_count; i++) {
        const struct kb_trace_warp *w = &t->warps[i];
        if (w->launch != launch)
            continue;
        if (!before || before->block != w->block)
            blocks[n++] = (struct block_time){w->begin, w->end, w->sm};
        struct block_time *b = &blocks[n - 1];
        b->begin = w->begin < b->begin ? w->begin : b->begin;
        b->end = w->end > b->end ? w->end : b->end;
        before = w;
    }
    return n;
}

static int by_sm(const void *a, const void *b)
{
    const struct block_time *x = a, *y = b;
    if (x->sm != y->sm)
        return x->sm < y->sm ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static void block_times(struct kb_trace_launch *l, const struct block_time *blocks, size_t n)
{
    double *values = kb_alloc((n + 1) * sizeof *values);
    for (size_t i = 0; i < n; i++)
        values[i] = (double)(blocks[i].end - blocks[i].begin);
    kb_sort_samples(values, (int)n);
    l->block_median = kb_median_sorted(values, (int)n);
    l->block_min = n ? values[0] : NAN;
    l->block_max = n ? values[n - 1] : NAN;
    free(values);
}

// The most blocks that one multiprocessor has at once; blocks in the order of their begin.
static size_t most_at_once(const struct block_time *blocks, size_t n)
{
    size_t most = 0;
    for (size_t i = 0; i < n; i++) {
        size_t here = 0;
        for (size_t k = i + 1; k-- > 0 && i - k < 64;)
            here += blocks[k].end > blocks[i].begin;
        most = here > most ? here : most;
    }
    return most;
}

static void multiprocessors(const struct kb_trace *t, struct kb_trace_launch *l, struct block_time *blocks, size_t n)
{
    size_t at_once = 0;
    double idle = 0;
    qsort(blocks, n, sizeof *blocks, by_sm);
    for (size_t i = 0, end; i < n; i = end) {
        int64_t last = blocks[i].end;
        for (end = i; end < n && blocks[end].sm == blocks[i].sm; end++)
            last = blocks[end].end > last ? blocks[end].end : last;
        size_t here = most_at_once(blocks + i, end - i);
        at_once = here > at_once ? here : at_once;
        idle += (double)(l->end - last);
        l->sms++;
    }
    bool whole = l->plan.recorded == l->plan.blocks && n == l->plan.blocks && !t->emulated && l->sms;
    l->waves = whole && at_once ? (double)n / ((double)at_once * l->sms) : NAN;
    l->tail = whole && t->aligned && l->end > l->begin ? idle / l->sms / (double)(l->end - l->begin) : NAN;
}

void kb_trace_sum_up(struct kb_trace *t)
{
    double *values = kb_alloc(((size_t)t->span_count + 1) * sizeof *values);
    struct block_time *blocks = kb_alloc(((size_t)t->warp_count + 1) * sizeof *blocks);
    for (int i = 0; i < t->section_count; i++)
        sum_section(t, (uint32_t)i, values);
    for (int i = 0; i < t->launch_count; i++) {
        struct kb_trace_launch *l = &t->launches[i];
        size_t n = blocks_of(t, i, blocks);
        l->sms = 0;
        l->waves = l->tail = NAN;
        block_times(l, blocks, n);
        multiprocessors(t, l, blocks, n);
    }
    free(values);
    free(blocks);
}
