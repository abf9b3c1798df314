#include "verify/pattern.h"

#include "base/memory.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

// Fewer than these may lie in such an order by chance.
enum { LEAST_STEPS = 3, LEAST_ONLY = 8, LEAST_SIDE = 16 };

struct set { // indices along one dimension that hold wrong elements
    const char *one, *many;
    const char *size; // NULL: nothing is said of remainders
    bool *in;
    int64_t n, count, first, last;
};

struct pattern {
    int ndim;
    const int64_t *shape;
    struct set matrices, rows, columns, flat;
    int64_t *place; // of a matrix: in how many matrices it is wrong
    int64_t places; // where that is not 0
    bool same;      // in all matrices that hold wrong elements
};

static void add(struct set *s, int64_t i)
{
    if (s->in[i])
        return;
    s->in[i] = true;
    s->first = s->count && s->first < i ? s->first : i;
    s->last = s->count && s->last > i ? s->last : i;
    s->count++;
}

static bool is_whole(const struct set *s)
{
    return s->count == s->n;
}

static bool is_range(const struct set *s)
{
    return s->last - s->first + 1 == s->count;
}

// Every step-th index from the first one to the end; 0: not so.
static int64_t step_of(const struct set *s)
{
    int64_t step = 1;
    while (s->first + step < s->n && !s->in[s->first + step])
        step++;
    if (s->count < LEAST_STEPS || step < 2 || s->first >= step || s->last + step < s->n)
        return 0;
    for (int64_t i = s->first; i < s->n; i++)
        if (s->in[i] != ((i - s->first) % step == 0))
            return 0;
    return step;
}

static bool repeats(const struct set *s, int64_t period)
{
    for (int64_t i = period; i < s->n; i++)
        if (s->in[i] != s->in[i - period])
            return false;
    return true;
}

// The same range within each `period` indices, a power of two; 0: not so.
static int64_t period_of(const struct set *s, int64_t *from, int64_t *to)
{
    int64_t period = 4, count = 0;
    while (period * 2 <= s->n && !repeats(s, period))
        period *= 2;
    if (period * 2 > s->n)
        return 0;
    for (int64_t i = 0; i < period; i++) {
        *from = s->in[i] && !count ? i : *from;
        *to = s->in[i] ? i : *to;
        count += s->in[i];
    }
    return *to - *from + 1 == count ? period : 0;
}

// What is left over where a dimension is cut in pieces of a power of two; 0: it is not that.
static int64_t remainder_of(const struct set *s)
{
    for (int64_t k = 4; s->size && k <= 1024 && k < s->n && s->count > 1 && s->last == s->n - 1; k *= 2)
        if (s->n % k == s->count)
            return k;
    return 0;
}

static const char *ordinal(int64_t n, char text[32])
{
    static const char *const ends[] = {"th", "st", "nd", "rd"};
    bool teens = n % 100 >= 11 && n % 100 <= 13;
    snprintf(text, 32, "%" PRId64 "%s", n, teens || n % 10 > 3 ? "th" : ends[n % 10]);
    return n == 2 ? "second" : text;
}

static void add_range(struct kb_text *out, const struct set *s)
{
    int64_t rest = remainder_of(s);
    if (s->count == 1 && (s->first == 0 || s->last == s->n - 1))
        kb_text_addf(out, "the %s %s", s->first ? "last" : "first", s->one);
    else if (s->count == 1)
        kb_text_addf(out, "%s %" PRId64, s->one, s->first);
    else if (s->first == 0)
        kb_text_addf(out, "%s < %" PRId64, s->many, s->last + 1);
    else if (s->last == s->n - 1)
        kb_text_addf(out, "%s >= %" PRId64, s->many, s->first);
    else
        kb_text_addf(out, "%s %" PRId64 " to %" PRId64, s->many, s->first, s->last);
    if (rest)
        kb_text_addf(out, ", the last %s %% %" PRId64, s->size, rest);
}

// False where the indices are in no order.
static bool add_set(struct kb_text *out, const struct set *s)
{
    char text[32];
    int64_t from = 0, to = 0, step = step_of(s), period = step ? 0 : period_of(s, &from, &to);
    kb_text_add(out, out->size && !kb_ends(out->data, " ") ? ", " : "");
    if (step) {
        kb_text_addf(out, "every %s %s", ordinal(step, text), s->one);
        if (s->first)
            kb_text_addf(out, " from %" PRId64 " on", s->first);
    } else if (is_range(s)) {
        add_range(out, s);
    } else if (period && from == to) { // from there on is said of steps only
        kb_text_addf(out, "%s %" PRId64 " of every %" PRId64, s->one, from, period);
    } else if (period) {
        kb_text_addf(out, "%s %" PRId64 " to %" PRId64 " of every %" PRId64, s->many, from, to, period);
    }
    return step || period || is_range(s);
}

static bool add_product(struct kb_text *out, const struct pattern *p)
{
    bool fits = p->same && p->places == p->rows.count * p->columns.count;
    if (fits && !is_whole(&p->rows))
        fits = add_set(out, &p->rows);
    if (fits && !is_whole(&p->columns)) {
        fits = add_set(out, &p->columns);
        if (p->rows.n > 1 && is_whole(&p->rows))
            kb_text_add(out, is_range(&p->columns) && remainder_of(&p->columns) ? " of a row"
                             : !is_range(&p->columns)                           ? ""
                                                                                : " of every row");
    }
    return fits && (is_whole(&p->matrices) || add_set(out, &p->matrices));
}

struct sides {      // of the diagonal of the last two dimensions: the lower left, the diagonal itself, the upper right
    int64_t places; // of the sides that have wrong ones
    const char *words; // NULL: all three have, or none
};

static struct sides sides_of(const struct pattern *p)
{
    static const char *const words[8] = {[1] = "the lower left of the diagonal",
                                         [2] = "the diagonal",
                                         [3] = "the diagonal and the lower left",
                                         [4] = "the upper right of the diagonal",
                                         [6] = "the diagonal and the upper right"};
    int64_t all[3] = {0};
    struct sides sides = {0};
    int which = 0;
    for (int64_t i = 0; i < p->rows.n * p->columns.n; i++) {
        int64_t row = i / p->columns.n, column = i % p->columns.n;
        int side = column < row ? 0 : column == row ? 1 : 2;
        all[side]++;
        which |= p->place[i] ? 1 << side : 0;
    }
    for (int k = 0; k < 3; k++)
        sides.places += which >> k & 1 ? all[k] : 0;
    sides.words = words[which];
    return sides;
}

static bool add_side(struct kb_text *out, const struct pattern *p)
{
    struct sides sides = sides_of(p);
    if (!sides.words || !p->same || sides.places != p->places || p->places <= 2)
        return false;
    kb_text_add(out, sides.words);
    return is_whole(&p->matrices) || add_set(out, &p->matrices);
}

static bool add_only_side(struct kb_text *out, const struct pattern *p)
{
    struct sides sides = sides_of(p);
    if (!sides.words || p->places < LEAST_SIDE || sides.places * 8 > p->rows.n * p->columns.n * 5)
        return false;
    kb_text_addf(out, "only in %s", sides.words);
    return true;
}

static void add_index(struct kb_text *out, const struct pattern *p, int64_t flat)
{
    int64_t below = p->flat.n;
    for (int k = 0; k < p->ndim; k++) {
        below /= p->shape[k];
        kb_text_addf(out, "%s%" PRId64, k ? ", " : "[", flat / below % p->shape[k]);
    }
    kb_text_add(out, "]");
}

// As they lie in memory.
static bool add_flat(struct kb_text *out, const struct pattern *p)
{
    const struct set *s = &p->flat;
    if (!is_range(s))
        return step_of(s) && add_set(out, s);
    kb_text_add(out, s->first ? "all from " : "all up to ");
    add_index(out, p, s->first ? s->first : s->last);
    if (s->first)
        kb_text_add(out, s->last == s->n - 1 ? " on" : " to ");
    if (s->first && s->last < s->n - 1)
        add_index(out, p, s->last);
    return true;
}

// Where not all is wrong, but all that is wrong: a zero may be right by chance.
static bool add_only(struct kb_text *out, const struct pattern *p, const struct set *s)
{
    if (p->flat.count < LEAST_ONLY || s->count * 2 > s->n || (is_range(s) && s->count * 4 > s->n))
        return false;
    kb_text_clear(out);
    kb_text_add(out, "only in ");
    return add_set(out, s);
}

static bool add_one(struct kb_text *out, const struct pattern *p)
{
    if (p->flat.count != 1)
        return false;
    kb_text_add(out, "one element, ");
    if (p->flat.last == p->flat.n - 1)
        kb_text_add(out, "the last");
    else
        add_index(out, p, p->flat.first);
    return true;
}

static bool add_only_set(struct kb_text *out, const struct pattern *p)
{
    return add_only(out, p, &p->rows) || add_only(out, p, &p->columns) || add_only(out, p, &p->matrices);
}

static void add_some(struct kb_text *out, const struct pattern *p)
{
    bool (*const kinds[])(struct kb_text *, const struct pattern *) = {add_one,  add_product,  add_side,
                                                                       add_flat, add_only_set, add_only_side};
    for (size_t i = 0; i < KB_COUNT(kinds); i++) {
        if (kinds[i](out, p))
            return;
        kb_text_clear(out);
    }
}

static void collect(struct pattern *p, const unsigned char *wrong)
{
    int64_t of_matrix = p->rows.n * p->columns.n;
    for (int64_t i = 0; i < p->flat.n; i++) {
        if (!wrong[i])
            continue;
        add(&p->flat, i);
        add(&p->matrices, i / of_matrix);
        add(&p->rows, i / p->columns.n % p->rows.n);
        add(&p->columns, i % p->columns.n);
        p->places += p->place[i % of_matrix]++ == 0;
    }
    if (!is_whole(&p->rows) && !is_whole(&p->columns)) // a tile
        p->rows.size = p->columns.size = NULL;
    p->same = p->places * p->matrices.count == p->flat.count;
}

static struct set set_of(const char *one, const char *many, const char *size, int64_t n)
{
    return (struct set){.one = one, .many = many, .size = size, .n = n, .in = kb_alloc((size_t)n)};
}

static void describe(struct pattern *p, const unsigned char *wrong, char out[KB_PATTERN_ROOM])
{
    struct kb_text text = {0};
    collect(p, wrong);
    if (p->flat.n > 1 && is_whole(&p->flat))
        kb_text_add(&text, "all of them");
    else if (p->flat.n > 1 && p->flat.count)
        add_some(&text, p);
    if (text.size && text.size < KB_PATTERN_ROOM)
        snprintf(out, KB_PATTERN_ROOM, "%s", text.data);
    kb_text_free(&text);
}

void kb_pattern_words(const unsigned char *wrong, int ndim, const int64_t *shape, char out[KB_PATTERN_ROOM])
{
    int64_t total = 1, columns = ndim ? shape[ndim - 1] : 1, rows = ndim > 1 ? shape[ndim - 2] : 1;
    bool plain = ndim < 2;
    *out = 0;
    for (int k = 0; k < ndim; k++)
        total *= shape[k];
    if (total < 1)
        return;
    struct pattern p = {.ndim = ndim, .shape = shape};
    p.matrices = set_of("matrix", "matrices", NULL, total / (rows * columns));
    p.rows = set_of("row", "rows", "rows", rows);
    p.columns = set_of(plain ? "element" : "column", plain ? "elements" : "columns", plain ? "n" : "cols", columns);
    p.flat = set_of("element", "elements", NULL, total);
    p.place = kb_alloc((size_t)(rows * columns) * sizeof *p.place);
    describe(&p, wrong, out);
    free(p.place);
    free(p.matrices.in);
    free(p.rows.in);
    free(p.columns.in);
    free(p.flat.in);
}
