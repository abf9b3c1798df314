#include "jit/sass_compare.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

// At each point of a: which register of b holds the value that a's register holds. UNKNOWN: not seen yet, any partner
// will do; LOST: what the register of a holds is in no one register of b (another value came over it, or two ways that
// meet here disagree), so that a use of it is a difference.
enum { UNKNOWN = -1, LOST = -2 };
typedef int16_t state[KB_SLOTS];

struct comparison {
    const struct kb_sass_normal *a, *b;
    const int *match;
    bool *differs; // NULL while states are still being found
    state *enter;  // by block of a
    bool *seen;    // by block: some way leads there
    bool *unpaired_b;
    int16_t *holder; // by slot of b: the slot of a that is mapped to it, or -1; of the state at hand
};

static void set(struct comparison *c, int16_t *s, int slot, int partner)
{
    if (s[slot] >= 0 && c->holder[s[slot]] == slot)
        c->holder[s[slot]] = -1;
    if (partner >= 0) {
        int other = c->holder[partner];
        if (other >= 0 && other != slot)
            s[other] = LOST;
        c->holder[partner] = (int16_t)slot;
    }
    s[slot] = (int16_t)partner;
}

static void define(struct comparison *c, int16_t *s, const struct kb_sass_ref *x, const struct kb_sass_ref *y)
{
    int width = x->width > y->width ? x->width : y->width;
    for (int i = 0; i < width && x->slot + i < KB_SLOTS && y->slot + i < KB_SLOTS; i++)
        set(c, s, x->slot + i, y->slot + i);
}

// An instruction that has no partner: of the register that it sets nothing is known any more.
static void forget(struct comparison *c, int16_t *s, const struct kb_sass_ref *x)
{
    for (int i = 0; i < x->width && x->slot + i < KB_SLOTS; i++)
        set(c, s, x->slot + i, UNKNOWN);
}

static void forget_b(struct comparison *c, int16_t *s, int index)
{
    for (int r = c->b->ref_from[index]; r < c->b->ref_from[index + 1]; r++) {
        const struct kb_sass_ref *y = &c->b->refs[r];
        for (int i = 0; y->defines && i < y->width && y->slot + i < KB_SLOTS; i++)
            if (c->holder[y->slot + i] >= 0)
                set(c, s, c->holder[y->slot + i], UNKNOWN);
    }
}

static bool use(struct comparison *c, int16_t *s, const struct kb_sass_ref *x, const struct kb_sass_ref *y)
{
    bool same = true;
    for (int i = 0; i < x->width && x->slot + i < KB_SLOTS && y->slot + i < KB_SLOTS; i++) {
        int partner = y->slot + i;
        int was = s[x->slot + i];
        if (was != UNKNOWN && was != partner)
            same = false;
        if (was == UNKNOWN && c->holder[partner] >= 0)
            same = false; // b's register holds another value of a
        if (was != partner)
            set(c, s, x->slot + i, partner); // said once, not at each later use
    }
    return same;
}

static bool step(struct comparison *c, int16_t *s, int i, int k)
{
    const struct kb_sass_ref *x = c->a->refs + c->a->ref_from[i], *y = c->b->refs + c->b->ref_from[k];
    int n = c->a->ref_from[i + 1] - c->a->ref_from[i], m = c->b->ref_from[k + 1] - c->b->ref_from[k];
    bool same = n == m; // one shape has one number of registers
    for (int r = 0; r < n && r < m; r++)
        if (!x[r].defines && !use(c, s, &x[r], &y[r]))
            same = false;
    for (int r = 0; r < n && r < m; r++)
        if (x[r].defines)
            define(c, s, &x[r], &y[r]);
    return same;
}

static void load(struct comparison *c, const int16_t *s)
{
    memset(c->holder, 0xff, sizeof *c->holder * KB_SLOTS);
    for (int i = 0; i < KB_SLOTS; i++)
        if (s[i] >= 0)
            c->holder[s[i]] = (int16_t)i;
}

// Between paired instructions b may have some of its own; what they set is forgotten too.
static void walk_block(struct comparison *c, int block, int16_t *s)
{
    const struct kb_sass_block *at = &c->a->blocks[block];
    load(c, s);
    for (int i = at->first; i < at->first + at->count; i++) {
        int k = c->match[i];
        if (k < 0) {
            for (int r = c->a->ref_from[i]; r < c->a->ref_from[i + 1]; r++)
                if (c->a->refs[r].defines)
                    forget(c, s, &c->a->refs[r]);
            continue;
        }
        for (int before = k - 1; before >= 0 && c->unpaired_b[before]; before--)
            forget_b(c, s, before);
        bool same = step(c, s, i, k);
        if (c->differs)
            c->differs[i] = !same;
    }
    for (int last = c->match[at->first + at->count - 1] + 1;
         last > 0 && last < c->b->kernel->count && c->unpaired_b[last]; last++)
        forget_b(c, s, last);
}

// Takes a way into a block into account; true if that changed what is known there.
static bool arrive(struct comparison *c, int block, const int16_t *s)
{
    int16_t *to = c->enter[block];
    bool changed = !c->seen[block];
    c->seen[block] = true;
    for (int i = 0; i < KB_SLOTS; i++) {
        int met = to[i] == UNKNOWN ? s[i] : s[i] == UNKNOWN || s[i] == to[i] ? to[i] : LOST;
        changed |= met != to[i];
        to[i] = (int16_t)met;
    }
    return changed;
}

static bool pass_on(struct comparison *c, int block, int16_t *s)
{
    const struct kb_sass_block *at = &c->a->blocks[block];
    bool changed = false;
    for (int t = 0; t < at->target_count; t++)
        changed |= arrive(c, c->a->block_targets[at->target_from + t], s);
    if (at->calls)
        memset(s, 0xff, sizeof(state));
    if (at->next >= 0)
        changed |= arrive(c, at->next, s);
    return changed;
}

// Until nothing changes. Each slot goes UNKNOWN, partner, LOST at most, so that this ends; the bound is for time.
static void find_states(struct comparison *c)
{
    bool changed = true;
    for (int round = 0; changed && round < 24; round++) {
        changed = false;
        for (int k = 0; k < c->a->block_count; k++) {
            state s;
            memcpy(s, c->enter[k], sizeof s);
            walk_block(c, k, s);
            changed |= pass_on(c, k, s);
        }
    }
}

// Constants keep their partners through the whole kernel, wherever they moved.
struct constant {
    uint64_t a, b;
};

static int by_a(const void *x, const void *y)
{
    const struct constant *p = x, *q = y;
    return p->a != q->a ? (p->a > q->a) - (p->a < q->a) : (p->b > q->b) - (p->b < q->b);
}

// The partner that most instructions give a constant is its partner; the others differ.
static int vote(struct constant *pairs, int count)
{
    int kept = 0;
    if (count)
        qsort(pairs, (size_t)count, sizeof *pairs, by_a);
    for (int i = 0; i < count;) {
        uint64_t a = pairs[i].a;
        int best = 0;
        struct constant winner = pairs[i];
        while (i < count && pairs[i].a == a) {
            int run = i;
            while (run < count && pairs[run].a == a && pairs[run].b == pairs[i].b)
                run++;
            if (run - i > best)
                winner = pairs[i];
            best = run - i > best ? run - i : best;
            i = run;
        }
        pairs[kept++] = winner;
    }
    return kept;
}

static struct constant *collect(const struct comparison *c, bool back, int *count)
{
    struct constant *pairs = kb_alloc(sizeof *pairs * ((size_t)c->a->kernel->count + 1));
    *count = 0;
    for (int i = 0; i < c->a->kernel->count; i++) {
        int k = c->match[i];
        if (k < 0 || !c->a->constants[i] || !c->b->constants[k])
            continue;
        uint64_t x = c->a->constants[i], y = c->b->constants[k];
        pairs[(*count)++] = back ? (struct constant){y, x} : (struct constant){x, y};
    }
    *count = vote(pairs, *count);
    return pairs;
}

static bool is_partner(const struct constant *pairs, int count, uint64_t a, uint64_t b)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (pairs[middle].a < a)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && pairs[low].a == a && pairs[low].b == b;
}

static void compare_constants(struct comparison *c)
{
    int there_count, back_count;
    struct constant *there = collect(c, false, &there_count), *back = collect(c, true, &back_count);
    for (int i = 0; i < c->a->kernel->count; i++) {
        int k = c->match[i];
        if (k < 0 || !c->a->constants[i])
            continue;
        uint64_t x = c->a->constants[i], y = c->b->constants[k];
        if (!is_partner(there, there_count, x, y) || !is_partner(back, back_count, y, x))
            c->differs[i] = true;
    }
    free(there);
    free(back);
}

// A branch of a pair goes to a pair, or to the start of something that changed.
static void compare_targets(struct comparison *c, const int *match_back)
{
    for (int i = 0; i < c->a->kernel->count; i++) {
        int k = c->match[i], x = c->a->targets[i], y = k < 0 ? -1 : c->b->targets[k];
        if (k < 0 || (x < 0 && y < 0))
            continue;
        bool known = x >= 0 && y >= 0;
        bool paired = known && (c->match[x] >= 0 || match_back[y] >= 0);
        if (!known || (paired && c->match[x] != y && c->match[x] >= 0 && match_back[y] >= 0))
            c->differs[i] = true;
    }
}

void kb_sass_compare(const struct kb_sass_normal *a, const struct kb_sass_normal *b, const int *match, bool *differs)
{
    int na = a->kernel->count, nb = b->kernel->count;
    int *match_back = kb_alloc(sizeof *match_back * ((size_t)nb + 1));
    int16_t *holder = kb_alloc(sizeof *holder * KB_SLOTS);
    struct comparison c = {.a = a, .b = b, .match = match, .holder = holder};
    memset(match_back, 0xff, sizeof *match_back * ((size_t)nb + 1));
    c.enter = kb_alloc(sizeof *c.enter * ((size_t)a->block_count + 1));
    c.seen = kb_alloc((size_t)a->block_count + 1);
    c.unpaired_b = kb_alloc((size_t)nb + 1);
    memset(c.enter, 0xff, sizeof *c.enter * ((size_t)a->block_count + 1));
    for (int i = 0; i < na; i++) {
        differs[i] = false;
        if (match[i] >= 0)
            match_back[match[i]] = i;
    }
    for (int k = 0; k < nb; k++)
        c.unpaired_b[k] = match_back[k] < 0;
    find_states(&c);
    c.differs = differs;
    for (int k = 0; k < a->block_count; k++) {
        state s;
        memcpy(s, c.enter[k], sizeof s);
        walk_block(&c, k, s);
    }
    compare_constants(&c);
    compare_targets(&c, match_back);
    free(c.enter);
    free(c.seen);
    free(c.unpaired_b);
    free(holder);
    free(match_back);
}
