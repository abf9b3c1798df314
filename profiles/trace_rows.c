// A trace as rows of cells: one row a multiprocessor, a block or a warp, one cell a slice of time.
#include "base/memory.h"
#include "profiles/trace.h"

#include <stdlib.h>
#include <string.h>

char kb_trace_letter(int section)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    return section < 1 ? '.' : section < (int)sizeof letters ? letters[section - 1] : '?';
}

static bool is_wanted(const struct kb_trace_window *v, const struct kb_trace_warp *w)
{
    if (v->level == KB_TRACE_LEVEL_BLOCKS)
        return v->sm == KB_TRACE_ALL || v->sm == w->sm;
    return v->level == KB_TRACE_LEVEL_SMS || (w->launch == v->launch && w->block == v->block);
}

static struct kb_trace_row key_of(const struct kb_trace_window *v, const struct kb_trace_warp *w)
{
    bool sms = v->level == KB_TRACE_LEVEL_SMS;
    return (struct kb_trace_row){.launch = sms ? KB_TRACE_ALL : w->launch,
                                 .sm = w->sm,
                                 .block = sms ? KB_TRACE_ALL : w->block,
                                 .warp = v->level == KB_TRACE_LEVEL_WARPS ? w->warp : KB_TRACE_ALL,
                                 .begin = w->begin,
                                 .end = w->end,
                                 .warps = 1};
}

static int compare(uint32_t a, uint32_t b)
{
    return a < b ? -1 : a > b;
}

static int by_key(const void *a, const void *b)
{
    const struct kb_trace_row *x = a, *y = b;
    int c = x->launch == KB_TRACE_ALL ? compare(x->sm, y->sm) : compare(x->launch, y->launch);
    c = c ? c : compare(x->block, y->block);
    return c ? c : compare(x->warp, y->warp);
}

static int by_begin(const void *a, const void *b)
{
    const struct kb_trace_row *x = a, *y = b;
    return x->begin != y->begin ? (x->begin < y->begin ? -1 : 1) : by_key(a, b);
}

int kb_trace_rows(const struct kb_trace *t, const struct kb_trace_window *v, struct kb_trace_row **out)
{
    struct kb_trace_row *rows = kb_alloc(((size_t)t->warp_count + 1) * sizeof *rows);
    size_t n = 0, kept = 0;
    for (uint32_t i = 0; i < t->warp_count; i++)
        if (is_wanted(v, &t->warps[i]))
            rows[n++] = key_of(v, &t->warps[i]);
    qsort(rows, n, sizeof *rows, by_key);
    for (size_t i = 0; i < n; i++) {
        if (kept && !by_key(&rows[kept - 1], &rows[i])) {
            struct kb_trace_row *r = &rows[kept - 1];
            r->begin = rows[i].begin < r->begin ? rows[i].begin : r->begin;
            r->end = rows[i].end > r->end ? rows[i].end : r->end;
            r->warps++;
        } else {
            rows[kept++] = rows[i];
        }
    }
    if (v->level == KB_TRACE_LEVEL_BLOCKS && !t->emulated) // emulated blocks all begin at 0
        qsort(rows, kept, sizeof *rows, by_begin);
    *out = rows;
    return (int)kept;
}

// ---- cells

struct sorted_row { // for finding a warp's row
    struct kb_trace_row row;
    int place;
};

static int by_row_key(const void *a, const void *b)
{
    return by_key(a, b); // the row is its first member
}

// Adds a span's ticks to the slices that it lies in.
static void spread(const struct kb_trace_window *v, int64_t begin, int64_t end, int columns, float *row, int section,
                   int sections)
{
    begin = begin > v->from ? begin : v->from;
    end = end < v->to ? end : v->to;
    if (begin >= end)
        return;
    double width = (double)(v->to - v->from) / columns;
    int first = (int)((double)(begin - v->from) / width), last = (int)((double)(end - v->from) / width);
    first = first >= columns ? columns - 1 : first;
    last = last >= columns ? columns - 1 : last;
    for (int c = first; c <= last; c++) {
        double from = (double)v->from + c * width, to = from + width;
        double a = (double)begin > from ? (double)begin : from, b = (double)end < to ? (double)end : to;
        row[(size_t)c * (size_t)sections + (size_t)section] += b > a ? (float)(b - a) : 0;
    }
}

static void add_warp(const struct kb_trace *t, const struct kb_trace_window *v, const struct kb_trace_warp *w,
                     int columns, float *row)
{
    if (w->end <= v->from || w->begin >= v->to)
        return;
    for (uint32_t i = 0; i < w->count; i++) {
        const struct kb_trace_span *s = &t->spans[w->first + i];
        int64_t begin = w->begin + s->begin, end = i + 1 < w->count ? w->begin + s[1].begin : w->end;
        spread(v, begin, end, columns, row, (int)s->section, t->section_count);
    }
}

static uint8_t largest(const float *slice, int sections)
{
    int best = -1;
    for (int i = 0; i < sections; i++)
        if (slice[i] > 0 && (best < 0 || slice[i] > slice[best]))
            best = i;
    return (uint8_t)(best + 1);
}

void kb_trace_cells(const struct kb_trace *t, const struct kb_trace_window *v, const struct kb_trace_row *rows,
                    int count, int columns, uint8_t *cells)
{
    size_t slices = (size_t)(count > 0 ? count : 0) * (size_t)columns, sections = (size_t)t->section_count;
    memset(cells, 0, slices);
    if (!slices || v->to <= v->from)
        return;
    float *ticks = kb_alloc(slices * sections * sizeof *ticks);
    struct sorted_row *sorted = kb_alloc((size_t)count * sizeof *sorted);
    for (int i = 0; i < count; i++)
        sorted[i] = (struct sorted_row){rows[i], i};
    qsort(sorted, (size_t)count, sizeof *sorted, by_row_key);
    for (uint32_t i = 0; i < t->warp_count; i++) {
        if (!is_wanted(v, &t->warps[i]))
            continue;
        struct sorted_row key = {key_of(v, &t->warps[i]), 0}, *found;
        found = bsearch(&key, sorted, (size_t)count, sizeof *sorted, by_row_key);
        if (found)
            add_warp(t, v, &t->warps[i], columns, ticks + (size_t)found->place * (size_t)columns * sections);
    }
    for (size_t i = 0; i < slices; i++)
        cells[i] = largest(ticks + i * sections, t->section_count);
    free(sorted);
    free(ticks);
}
