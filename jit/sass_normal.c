#include "jit/sass_normal.h"
#include "base/memory.h"
#include "jit/sass_operands.h"

#include <stdlib.h>
#include <string.h>

struct named {
    const char *name;
    int index;
};
struct labels { // sorted by name
    struct named *items;
    int count;
};

static int by_name(const void *x, const void *y)
{
    return strcmp(((const struct named *)x)->name, ((const struct named *)y)->name);
}

static struct labels sort_labels(const struct kb_sass_kernel *k)
{
    struct labels l = {kb_alloc(sizeof *l.items * ((size_t)k->label_count + 1)), k->label_count};
    for (int i = 0; i < k->label_count; i++)
        l.items[i] = (struct named){k->labels[i].name, k->labels[i].index};
    if (l.count)
        qsort(l.items, (size_t)l.count, sizeof *l.items, by_name);
    return l;
}

static int find_label(const struct labels *l, const char *name, int length)
{
    char key[512];
    if (length >= (int)sizeof key)
        return -1;
    memcpy(key, name, (size_t)length);
    key[length] = 0;
    struct named wanted = {key, 0},
                 *hit = l->count ? bsearch(&wanted, l->items, (size_t)l->count, sizeof wanted, by_name) : NULL;
    return hit ? hit->index : -1;
}

static int find_offset(const struct kb_sass_kernel *k, int64_t offset)
{
    int low = 0, high = k->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (k->instructions[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < k->count && k->instructions[low].offset == offset ? low : -1;
}

struct building {
    struct kb_sass_normal *n;
    bool *leads;   // begins a block
    int *all_from; // count + 1: where each instruction's targets begin in all
    int *all;
    int all_count, all_capacity;
};

static void add_refs(struct kb_sass_normal *n, const struct kb_sass_operands *o)
{
    for (int i = 0; i < o->ref_count; i++) {
        KB_GROW(n->refs, n->ref_count, n->ref_capacity);
        n->refs[n->ref_count++] = o->refs[i];
    }
}

static void add_target(struct building *b, int i, int target)
{
    if (target < 0 || target >= b->n->kernel->count)
        return;
    KB_GROW(b->all, b->all_count, b->all_capacity);
    b->all[b->all_count++] = target;
    b->leads[target] = true;
    if (b->n->targets[i] < 0)
        b->n->targets[i] = target;
}

static bool is_move(const struct kb_sass_instruction *i)
{
    return kb_sass_is(i, "MOV") || kb_starts(i->opcode, "IMAD.MOV");
}

// "MOV R20, 0x1370": where the call behind it comes back to.
static bool is_return_address(const struct kb_sass_kernel *k, const struct kb_sass_instruction *i)
{
    const char *number = strrchr(i->operands, ' ');
    if (!is_move(i) || !number || !kb_starts(number, " 0x"))
        return false;
    int to = find_offset(k, strtoll(number, NULL, 16));
    return to > 0 && kb_sass_is(&k->instructions[to - 1], "CALL");
}

static void read_instructions(struct building *b, const struct labels *labels)
{
    struct kb_sass_normal *n = b->n;
    struct kb_sass_operands *o = kb_alloc(sizeof *o);
    for (int i = 0; i < n->kernel->count; i++) {
        const struct kb_sass_instruction *at = &n->kernel->instructions[i];
        kb_sass_read_operands(at, is_return_address(n->kernel, at), o);
        n->shapes[i] = o->shape;
        n->constants[i] = o->constant;
        n->ref_from[i] = n->ref_count;
        add_refs(n, o);
        n->targets[i] = -1;
        b->all_from[i] = b->all_count;
        for (int k = 0; k < o->target_count; k++)
            add_target(b, i, find_label(labels, o->targets[k], o->target_lengths[k]));
        if (!o->target_count && o->address >= 0 && !is_move(at))
            add_target(b, i, find_offset(n->kernel, o->address));
        if (kb_sass_branches(at) && i + 1 < n->kernel->count)
            b->leads[i + 1] = true;
        if (kb_sass_is(at, "CALL") && i + 1 < n->kernel->count)
            b->leads[i + 1] = true;
    }
    n->ref_from[n->kernel->count] = n->ref_count;
    b->all_from[n->kernel->count] = b->all_count;
    free(o);
}

static void add_block(struct kb_sass_normal *n, int first)
{
    KB_GROW(n->blocks, n->block_count, n->block_capacity);
    n->blocks[n->block_count++] = (struct kb_sass_block){.first = first, .next = -1};
}

static void cut_blocks(struct building *b)
{
    struct kb_sass_normal *n = b->n;
    for (int i = 0; i < n->kernel->count; i++) {
        if (i == 0 || b->leads[i])
            add_block(n, i);
        struct kb_sass_block *block = &n->blocks[n->block_count - 1];
        n->block_of[i] = n->block_count - 1;
        block->count++;
        block->key = (block->key ^ n->shapes[i]) * 0x9e3779b97f4a7c15u;
        block->key ^= block->key >> 29;
    }
}

static void link_blocks(struct building *b)
{
    struct kb_sass_normal *n = b->n;
    for (int k = 0; k < n->block_count; k++) {
        struct kb_sass_block *block = &n->blocks[k];
        int last = block->first + block->count - 1;
        const struct kb_sass_instruction *at = &n->kernel->instructions[last];
        block->calls = kb_sass_is(at, "CALL");
        block->next = kb_sass_always(at) || k + 1 == n->block_count ? -1 : k + 1;
        block->target_from = n->block_target_count;
        for (int t = b->all_from[last]; t < b->all_from[last + 1]; t++) {
            if (kb_sass_is(at, "BSSY") || kb_sass_is(at, "RET"))
                continue; // no jump from here
            KB_GROW(n->block_targets, n->block_target_count, n->block_target_capacity);
            n->block_targets[n->block_target_count++] = n->block_of[b->all[t]];
        }
        block->target_count = n->block_target_count - block->target_from;
    }
}

void kb_sass_normalise(const struct kb_sass_kernel *k, struct kb_sass_normal *n)
{
    size_t count = (size_t)k->count + 1;
    *n = (struct kb_sass_normal){.kernel = k};
    n->shapes = kb_alloc(sizeof *n->shapes * count);
    n->constants = kb_alloc(sizeof *n->constants * count);
    n->targets = kb_alloc(sizeof *n->targets * count);
    n->ref_from = kb_alloc(sizeof *n->ref_from * count);
    n->block_of = kb_alloc(sizeof *n->block_of * count);
    struct building b = {.n = n, .leads = kb_alloc(count), .all_from = kb_alloc(sizeof(int) * count)};
    struct labels labels = sort_labels(k);
    for (int i = 0; i < k->label_count; i++)
        if (k->labels[i].function && k->labels[i].index < k->count)
            b.leads[k->labels[i].index] = true;
    read_instructions(&b, &labels);
    cut_blocks(&b);
    link_blocks(&b);
    free(labels.items);
    free(b.leads);
    free(b.all_from);
    free(b.all);
}

void kb_sass_normal_free(struct kb_sass_normal *n)
{
    free(n->shapes);
    free(n->constants);
    free(n->targets);
    free(n->refs);
    free(n->ref_from);
    free(n->blocks);
    free(n->block_of);
    free(n->block_targets);
    *n = (struct kb_sass_normal){0};
}
