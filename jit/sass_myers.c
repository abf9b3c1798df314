#include "jit/sass_myers.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SEARCH_MOST = 512 }; // edits that one search may come to before it settles for a split

struct search {
    const uint64_t *a, *b;
    const int *a_index, *b_index; // where the keys stood before those without a partner were left out
    int *match;
    int *forward, *backward; // furthest x by diagonal; index: diagonal + origin
    int origin;
};
struct box {
    int a0, a1, b0, b1;
};
struct split {
    int x, y;
};

static int snake_on(const struct search *s, const struct box *r, int x, int diagonal)
{
    while (x < r->a1 && x - diagonal < r->b1 && s->a[x] == s->b[x - diagonal])
        x++;
    return x;
}

static int snake_back(const struct search *s, const struct box *r, int x, int diagonal)
{
    while (x > r->a0 && x - diagonal > r->b0 && s->a[x - 1] == s->b[x - 1 - diagonal])
        x--;
    return x;
}

// Clips the diagonals of one round to those that stay in the box.
static void limits(const struct box *r, int center, int d, int *low, int *high)
{
    int least = r->a0 - r->b1, most = r->a1 - r->b0;
    *low = center - d;
    *high = center + d;
    while (*low < least)
        *low += 2;
    while (*high > most)
        *high -= 2;
}

// Where the search on a diagonal begins, from its neighbours' ends of the round before: NOWHERE, or BEHIND_ALL for the
// search back, if no step leads there inside the box.
enum { NOWHERE = -1, BEHIND_ALL = INT32_MAX };

static int start_forward(const struct search *s, const struct box *r, int k, int d)
{
    const int *v = s->forward + s->origin;
    int center = r->a0 - r->b0, x = NOWHERE;
    if (k + 1 <= center + d - 1 && k + 1 <= r->a1 - r->b0 && v[k + 1] != NOWHERE && v[k + 1] - k <= r->b1)
        x = v[k + 1];
    if (k - 1 >= center - d + 1 && k - 1 >= r->a0 - r->b1 && v[k - 1] != NOWHERE && v[k - 1] < r->a1 &&
        v[k - 1] + 1 > x)
        x = v[k - 1] + 1;
    return x;
}

static int start_back(const struct search *s, const struct box *r, int k, int d)
{
    const int *v = s->backward + s->origin;
    int center = r->a1 - r->b1, x = BEHIND_ALL;
    if (k - 1 >= center - d + 1 && k - 1 >= r->a0 - r->b1 && v[k - 1] != BEHIND_ALL && v[k - 1] - k >= r->b0)
        x = v[k - 1];
    if (k + 1 <= center + d - 1 && k + 1 <= r->a1 - r->b0 && v[k + 1] != BEHIND_ALL && v[k + 1] > r->a0 &&
        v[k + 1] - 1 < x)
        x = v[k + 1] - 1;
    return x;
}

// One more edit forward; true where the two searches meet.
static bool go_forward(const struct search *s, const struct box *r, int d, struct split *found)
{
    int from = r->a0 - r->b0, to = r->a1 - r->b1, low, high;
    int *v = s->forward + s->origin, *w = s->backward + s->origin;
    limits(r, from, d, &low, &high);
    for (int k = low; k <= high; k += 2) {
        int x = d ? start_forward(s, r, k, d) : r->a0;
        v[k] = x = x == NOWHERE ? x : snake_on(s, r, x, k);
        bool met = ((from - to) & 1) && k >= to - (d - 1) && k <= to + (d - 1) && x != NOWHERE && x >= w[k];
        if (met) {
            *found = (struct split){x, x - k};
            return true;
        }
    }
    return false;
}

static bool go_back(const struct search *s, const struct box *r, int d, struct split *found)
{
    int from = r->a0 - r->b0, to = r->a1 - r->b1, low, high;
    int *v = s->forward + s->origin, *w = s->backward + s->origin;
    limits(r, to, d, &low, &high);
    for (int k = low; k <= high; k += 2) {
        int x = d ? start_back(s, r, k, d) : r->a1;
        w[k] = x = x == BEHIND_ALL ? x : snake_back(s, r, x, k);
        if (!((from - to) & 1) && k >= from - d && k <= from + d && x <= v[k]) {
            *found = (struct split){x, x - k};
            return true;
        }
    }
    return false;
}

// The furthest that the forward search came: a place to cut, if not the best one.
static struct split furthest(const struct search *s, const struct box *r, int d)
{
    int from = r->a0 - r->b0, low, high;
    struct split best = {r->a0, r->b0};
    limits(r, from, d, &low, &high);
    for (int k = low; k <= high; k += 2) {
        int x = s->forward[s->origin + k], y = x - k;
        if (x == NOWHERE)
            continue;
        if (x + y > best.x + best.y)
            best = (struct split){x, y};
    }
    return best;
}

static bool find_split(const struct search *s, const struct box *r, struct split *found)
{
    for (int d = 0; d <= SEARCH_MOST; d++)
        if (go_forward(s, r, d, found) || go_back(s, r, d, found))
            return true;
    *found = furthest(s, r, SEARCH_MOST);
    return found->x + found->y > r->a0 + r->b0;
}

static void pair(const struct search *s, int x, int y)
{
    s->match[s->a_index[x]] = s->b_index[y];
}

static void solve(const struct search *s, struct box r)
{
    for (;;) {
        while (r.a0 < r.a1 && r.b0 < r.b1 && s->a[r.a0] == s->b[r.b0])
            pair(s, r.a0++, r.b0++);
        while (r.a0 < r.a1 && r.b0 < r.b1 && s->a[r.a1 - 1] == s->b[r.b1 - 1])
            pair(s, --r.a1, --r.b1);
        struct split at;
        if (r.a0 == r.a1 || r.b0 == r.b1 || !find_split(s, &r, &at))
            return;
        struct box before = {r.a0, at.x, r.b0, at.y}, after = {at.x, r.a1, at.y, r.b1};
        bool stuck =
            (before.a0 == before.a1 && before.b0 == before.b1) || (after.a0 == after.a1 && after.b0 == after.b1);
        if (stuck)
            return;
        solve(s, before); // at most as deep as parts of the search are: each call at least takes an edit away
        r = after;
    }
}

static int by_key(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

// The keys that the other side holds too, with where they stood.
static int keep_common(const uint64_t *keys, int n, const uint64_t *sorted, int other, uint64_t *kept, int *index)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        if (other && bsearch(&keys[i], sorted, (size_t)other, sizeof *sorted, by_key)) {
            kept[count] = keys[i];
            index[count++] = i;
        }
    return count;
}

static uint64_t *sorted_copy(const uint64_t *keys, int n)
{
    uint64_t *copy = kb_alloc(sizeof *copy * ((size_t)n + 1));
    if (n) {
        memcpy(copy, keys, sizeof *copy * (size_t)n);
        qsort(copy, (size_t)n, sizeof *copy, by_key);
    }
    return copy;
}

void kb_sass_match(const uint64_t *a, int na, const uint64_t *b, int nb, int *match)
{
    for (int i = 0; i < na; i++)
        match[i] = -1;
    uint64_t *sorted_a = sorted_copy(a, na), *sorted_b = sorted_copy(b, nb);
    uint64_t *kept_a = kb_alloc(sizeof *kept_a * ((size_t)na + 1)),
             *kept_b = kb_alloc(sizeof *kept_b * ((size_t)nb + 1));
    int *index_a = kb_alloc(sizeof *index_a * ((size_t)na + 1)),
        *index_b = kb_alloc(sizeof *index_b * ((size_t)nb + 1));
    int ka = keep_common(a, na, sorted_b, nb, kept_a, index_a), kb = keep_common(b, nb, sorted_a, na, kept_b, index_b);
    size_t diagonals = (size_t)ka + (size_t)kb + 8;
    struct search s = {kept_a, kept_b, index_a, index_b, match, NULL, NULL, kb + 4};
    s.forward = kb_alloc(sizeof *s.forward * diagonals);
    s.backward = kb_alloc(sizeof *s.backward * diagonals);
    solve(&s, (struct box){0, ka, 0, kb});
    free(s.forward);
    free(s.backward);
    free(index_a);
    free(index_b);
    free(kept_a);
    free(kept_b);
    free(sorted_a);
    free(sorted_b);
}
