#include "jit/sass_hunks.h"
#include "base/memory.h"

#include <stdlib.h>

struct kb_row *kb_diff_rows(const int *match, int na, int nb, const bool *different, int *count)
{
    struct kb_row *rows = kb_alloc(sizeof *rows * ((size_t)na + (size_t)nb + 1));
    int n = 0, k = 0;
    for (int i = 0; i < na; i++) {
        if (match[i] < 0) {
            rows[n++] = (struct kb_row){i, -1, '-'};
            continue;
        }
        while (k < match[i])
            rows[n++] = (struct kb_row){-1, k++, '+'};
        rows[n++] = (struct kb_row){i, k++, different && different[i] ? '~' : '='};
    }
    while (k < nb)
        rows[n++] = (struct kb_row){-1, k++, '+'};
    *count = n;
    return rows;
}

void kb_diff_hunks(struct kb_hunks *h, const struct kb_row *rows, int count, int context, int unit)
{
    int end = -1; // of the hunk at hand
    for (int i = 0; i < count; i++) {
        if (rows[i].kind == '=')
            continue;
        int from = i > context ? i - context : 0, to = i + context + 1 < count ? i + context + 1 : count;
        if (end >= from && end >= 0) {
            h->items[h->count - 1].count = to - h->items[h->count - 1].first;
        } else {
            KB_GROW(h->items, h->count, h->capacity);
            h->items[h->count++] = (struct kb_hunk){from, to - from, unit, 0};
        }
        end = to;
    }
}

static int by_heat(const void *x, const void *y)
{
    const struct kb_hunk *a = x, *b = y;
    if (a->samples != b->samples)
        return a->samples < b->samples ? 1 : -1;
    return a->unit != b->unit ? a->unit - b->unit : a->first - b->first;
}

void kb_diff_sort(struct kb_hunks *h)
{
    if (h->count)
        qsort(h->items, (size_t)h->count, sizeof *h->items, by_heat);
}
