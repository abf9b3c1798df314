#include "verify/mask.h"
#include "base/clock.h"
#include "verify/neighbour.h"

#include <sys/random.h>

void kb_mask_begin(struct kb_data *d)
{
    if (getrandom(d->mask_keys, sizeof d->mask_keys, 0) != (ssize_t)sizeof d->mask_keys)
        for (int i = 0; i < 2; i++)
            d->mask_keys[i] = kbe_random((uint64_t)kb_now_us(), (uint64_t)i + (uint64_t)(uintptr_t)d);
}

void kb_mask_forget(struct kb_set *s)
{
    s->guarded = KB_SET_READABLE;
    s->hashed = false;
}

// Every buffer has a stream of its own.
static int mask(struct kb_data *d, const struct kb_buffer *b, struct kb_error *e)
{
    uint64_t key = kbe_random(d->mask_keys[0], b->address);
    return d->masks && b->address && b->bytes ? kb_op_mask(&d->ops, b, key, d->mask_keys[1], e) : 0;
}

static int mask_set(struct kb_data *d, const struct kb_set *s, struct kb_error *e)
{
    for (int i = 0; i < d->bench->arg_count; i++)
        if (mask(d, &s->ref[i], e) || mask(d, &s->scale[i], e) || mask(d, &s->condition[i], e))
            return -1;
    return 0;
}

static int hash(struct kb_data *d, const struct kb_set *s, int arg, uint64_t *ref, uint64_t *scale, struct kb_error *e)
{
    uint64_t condition = 0;
    *ref = *scale = 0;
    if ((s->ref[arg].address && kb_op_hash(&d->ops, &s->ref[arg], ref, e)) ||
        (s->scale[arg].address && kb_op_hash(&d->ops, &s->scale[arg], scale, e)) ||
        (s->condition[arg].address && kb_op_hash(&d->ops, &s->condition[arg], &condition, e)))
        return -1;
    *scale = kbe_random(*scale, condition);
    return 0;
}

static int close_set(struct kb_data *d, struct kb_set *s, struct kb_error *e)
{
    if (s->guarded != KB_SET_READABLE)
        return 0;
    for (int i = 0; i < d->bench->arg_count && !s->hashed; i++)
        if (hash(d, s, i, &s->ref_hash[i], &s->scale_hash[i], e))
            return -1;
    s->hashed = true;
    s->guarded = KB_SET_MASKED;
    return mask_set(d, s, e);
}

static int close_case(struct kb_data *d, struct kb_case_data *c, struct kb_error *e)
{
    for (int k = 0; k < c->set_count; k++)
        if (close_set(d, &c->sets[k], e))
            return -1;
    for (int k = 0; c->stress && k < KB_STRESSES; k++)
        if (close_set(d, &c->stress[k], e))
            return -1;
    return 0;
}

int kb_mask_all(struct kb_data *d, struct kb_error *e)
{
    for (int i = 0; i < d->bench->case_count; i++)
        if (close_case(d, &d->cases[i], e))
            return -1;
    for (int i = 0; i < d->neighbour_count; i++)
        if (close_case(d, &d->neighbours[i].data, e))
            return -1;
    return 0;
}

int kb_mask_open(struct kb_data *d, struct kb_set *s, int *bent, struct kb_error *e)
{
    *bent = -1;
    if (s->guarded != KB_SET_MASKED)
        return 0;
    s->guarded = KB_SET_READABLE;
    if (mask_set(d, s, e))
        return -1;
    for (int i = 0; i < d->bench->arg_count && *bent < 0; i++) {
        uint64_t ref, scale;
        if (hash(d, s, i, &ref, &scale, e))
            return -1;
        if (ref != s->ref_hash[i] || scale != s->scale_hash[i])
            *bent = i;
    }
    return 0;
}
