#include "base/memory.h"
#include "jit/sass_compare.h"
#include "jit/sass_myers.h"

#include <stdlib.h>
#include <string.h>

enum { PAIRS_MOST = 256 * 256 }; // blocks of a by blocks of b that are compared with each other

struct range { // blocks
    int a0, a1, b0, b1;
};

static void match_shapes(const struct kb_sass_normal *a, int a0, int na, const struct kb_sass_normal *b, int b0, int nb,
                         int *match)
{
    int *local = kb_alloc(sizeof *local * ((size_t)na + 1));
    kb_sass_match(a->shapes + a0, na, b->shapes + b0, nb, local);
    for (int i = 0; i < na; i++)
        match[a0 + i] = local[i] < 0 ? -1 : b0 + local[i];
    free(local);
}

static int start_of(const struct kb_sass_normal *n, int block)
{
    return block < n->block_count ? n->blocks[block].first : n->kernel->count;
}

static int by_key(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

// The shapes of all blocks, each block's sorted.
static uint64_t *sort_blocks(const struct kb_sass_normal *n, int from, int to)
{
    int start = start_of(n, from), end = start_of(n, to);
    uint64_t *shapes = kb_alloc(sizeof *shapes * ((size_t)(end - start) + 1));
    for (int i = start; i < end; i++)
        shapes[i - start] = n->shapes[i];
    for (int k = from; k < to; k++)
        qsort(shapes + n->blocks[k].first - start, (size_t)n->blocks[k].count, sizeof *shapes, by_key);
    return shapes;
}

// Instructions in common, in hundredths of both, if that is at least a third; else 0.
static int likeness(const uint64_t *a, int na, const uint64_t *b, int nb)
{
    int common = 0;
    for (int i = 0, k = 0; i < na && k < nb;) {
        common += a[i] == b[k];
        uint64_t left = a[i], right = b[k];
        i += left <= right;
        k += right <= left;
    }
    int percent = 200 * common / (na + nb);
    return percent >= 34 ? percent * common : 0;
}

// The pairing of blocks, in order, with the most in common.
static void pair_blocks(const struct kb_sass_normal *a, const struct kb_sass_normal *b, struct range r, int *pair)
{
    int na = r.a1 - r.a0, nb = r.b1 - r.b0, wide = nb + 1;
    uint64_t *sorted_a = sort_blocks(a, r.a0, r.a1), *sorted_b = sort_blocks(b, r.b0, r.b1);
    int64_t *best = kb_alloc(sizeof *best * (size_t)(na + 1) * (size_t)wide);
    int *like = kb_alloc(sizeof *like * (size_t)na * (size_t)nb);
    for (int i = na - 1; i >= 0; i--)
        for (int k = nb - 1; k >= 0; k--) {
            const struct kb_sass_block *x = &a->blocks[r.a0 + i], *y = &b->blocks[r.b0 + k];
            like[i * nb + k] = likeness(sorted_a + x->first - start_of(a, r.a0), x->count,
                                        sorted_b + y->first - start_of(b, r.b0), y->count);
            int64_t skip_a = best[(i + 1) * wide + k], skip_b = best[i * wide + k + 1];
            int64_t take = like[i * nb + k] ? best[(i + 1) * wide + k + 1] + like[i * nb + k] : 0;
            int64_t most = skip_a > skip_b ? skip_a : skip_b;
            best[i * wide + k] = take > most ? take : most;
        }
    for (int i = 0, k = 0; i < na; i++) {
        pair[i] = -1;
        while (k < nb && best[i * wide + k] == best[i * wide + k + 1])
            k++;
        if (k < nb && best[i * wide + k] != best[(i + 1) * wide + k])
            pair[i] = r.b0 + k++;
    }
    free(best);
    free(like);
    free(sorted_a);
    free(sorted_b);
}

// Blocks between two that are alike. Unpaired neighbours are compared with each other too: a block may have been cut in
// two.
static void match_between(const struct kb_sass_normal *a, const struct kb_sass_normal *b, struct range r, int *match)
{
    int na = r.a1 - r.a0, nb = r.b1 - r.b0;
    if (!na || !nb)
        return;
    int *pair = kb_alloc(sizeof *pair * (size_t)na);
    bool few = (int64_t)na * nb <= PAIRS_MOST;
    if (few)
        pair_blocks(a, b, r, pair);
    for (int i = 0; !few && i < na; i++)
        pair[i] = -1;
    int a_from = r.a0, b_from = r.b0;
    for (int i = 0; i <= na; i++) {
        if (i < na && pair[i] < 0)
            continue;
        int a_to = r.a0 + i, b_to = i < na ? pair[i] : r.b1;
        match_shapes(a, start_of(a, a_from), start_of(a, a_to) - start_of(a, a_from), b, start_of(b, b_from),
                     start_of(b, b_to) - start_of(b, b_from), match);
        if (i == na)
            break;
        match_shapes(a, a->blocks[a_to].first, a->blocks[a_to].count, b, b->blocks[b_to].first, b->blocks[b_to].count,
                     match);
        a_from = a_to + 1;
        b_from = b_to + 1;
    }
    free(pair);
}

static uint64_t *block_keys(const struct kb_sass_normal *n)
{
    uint64_t *keys = kb_alloc(sizeof *keys * ((size_t)n->block_count + 1));
    for (int i = 0; i < n->block_count; i++)
        keys[i] = n->blocks[i].key;
    return keys;
}

void kb_sass_align(const struct kb_sass_normal *a, const struct kb_sass_normal *b, int *match)
{
    for (int i = 0; i < a->kernel->count; i++)
        match[i] = -1;
    uint64_t *keys_a = block_keys(a), *keys_b = block_keys(b);
    int *blocks = kb_alloc(sizeof *blocks * ((size_t)a->block_count + 1));
    kb_sass_match(keys_a, a->block_count, keys_b, b->block_count, blocks);
    struct range r = {0, 0, 0, 0};
    for (int k = 0; k <= a->block_count; k++) {
        if (k < a->block_count && blocks[k] < 0)
            continue;
        r.a1 = k;
        r.b1 = k < a->block_count ? blocks[k] : b->block_count;
        match_between(a, b, r, match);
        if (k == a->block_count)
            break;
        const struct kb_sass_block *x = &a->blocks[k], *y = &b->blocks[blocks[k]];
        for (int i = 0; i < x->count && i < y->count; i++)
            match[x->first + i] = y->first + i;
        r.a0 = k + 1;
        r.b0 = blocks[k] + 1;
    }
    free(keys_a);
    free(keys_b);
    free(blocks);
}
