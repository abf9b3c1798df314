#include "jit/ptx/known.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static struct ptx_vector *allocate(uint32_t count)
{
    struct ptx_vector *c = kb_alloc(sizeof *c + count * sizeof *c->of);
    c->users = 1;
    return c;
}

// Leaves out what a block's or warp's entry before it implies.
struct adder {
    struct ptx_vector *to;
    uint64_t block, warp; // the last ones that stand for more
    uint32_t block_time, warp_time;
};

static void add(struct adder *a, uint64_t who, uint32_t time)
{
    bool whole_block = !(who & 0xfff), whole_warp = !(who & 0x3f);
    if (time <= a->to->all || (a->block_time && who >> 12 == a->block >> 12 && time <= a->block_time) ||
        (a->warp_time && who >> 6 == a->warp >> 6 && time <= a->warp_time))
        return;
    if (whole_block) {
        a->block = who;
        a->block_time = time;
    } else if (whole_warp) {
        a->warp = who;
        a->warp_time = time;
    }
    a->to->of[a->to->count++] = (struct ptx_known){who, time};
}

struct ptx_vector *ptx_vector_new(const struct ptx_known *of, uint32_t count)
{
    struct adder a = {.to = allocate(count)};
    for (uint32_t i = 0; i < count; i++)
        add(&a, of[i].who, of[i].time);
    if (a.to->count)
        return a.to;
    free(a.to);
    return NULL;
}

struct ptx_vector *ptx_vector_everything(uint32_t time)
{
    struct ptx_vector *c = allocate(0);
    c->all = time;
    return c;
}

struct ptx_vector *ptx_vector_use(struct ptx_vector *c)
{
    if (c)
        c->users++;
    return c;
}

void ptx_vector_drop(struct ptx_vector *c)
{
    if (c && !--c->users)
        free(c);
}

void ptx_vector_forget(struct ptx_vector **c)
{
    ptx_vector_drop(*c);
    *c = NULL;
}

// The first entry of the block.
static uint32_t block_start(const struct ptx_vector *c, uint64_t block)
{
    uint32_t low = 0, high = c->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (c->of[middle].who < PTX_WHO_BLOCK(block))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool knows(const struct ptx_vector *c, uint64_t who, uint32_t time)
{
    if (time <= c->all)
        return true;
    for (uint32_t i = block_start(c, who >> 12); i < c->count && c->of[i].who >> 12 == who >> 12; i++) {
        uint64_t of = c->of[i].who;
        bool implies = of == who || !(of & 0xfff) || (!(of & 0x3f) && of >> 6 == who >> 6);
        if (implies && time <= c->of[i].time)
            return true;
        if (of > who)
            break;
    }
    return false;
}

bool ptx_vector_knows(const struct ptx_vector *c, uint64_t block, uint32_t warp, uint32_t lane, uint32_t time)
{
    return c && knows(c, PTX_WHO_LANE(block, warp, lane), time);
}

static bool holds(const struct ptx_vector *a, const struct ptx_vector *b, uint64_t *work)
{
    if (b->all > a->all)
        return false;
    for (uint32_t i = 0; i < b->count; i++) {
        *work += 4;
        if (!knows(a, b->of[i].who, b->of[i].time))
            return false;
    }
    return true;
}

static struct ptx_vector *merge(const struct ptx_vector *a, const struct ptx_vector *b)
{
    struct adder to = {.to = allocate(a->count + b->count)};
    to.to->all = a->all > b->all ? a->all : b->all;
    for (uint32_t i = 0, k = 0; i < a->count || k < b->count;) {
        if (k == b->count || (i < a->count && a->of[i].who < b->of[k].who)) {
            add(&to, a->of[i].who, a->of[i].time);
            i++;
        } else if (i == a->count || b->of[k].who < a->of[i].who) {
            add(&to, b->of[k].who, b->of[k].time);
            k++;
        } else {
            add(&to, a->of[i].who, a->of[i].time > b->of[k].time ? a->of[i].time : b->of[k].time);
            i++;
            k++;
        }
    }
    return to.to;
}

void ptx_vector_join(struct ptx_vector **a, struct ptx_vector *b, uint64_t *work)
{
    if (!b || *a == b)
        return;
    *work += 1;
    if (!*a || ((*a)->count <= b->count && holds(b, *a, work))) {
        ptx_vector_drop(*a);
        *a = ptx_vector_use(b);
        return;
    }
    if (b->count <= (*a)->count && holds(*a, b, work))
        return;
    *work += (*a)->count + b->count;
    struct ptx_vector *both = merge(*a, b);
    ptx_vector_drop(*a);
    *a = both;
}
