#include "verify/disturb.h"
#include "base/clock.h"
#include "base/memory.h"
#include "verify/fill.h"

#include <stdlib.h>

// One element in so many, and in small outputs one in sixteen: a part that is left undone holds some, a part that
// agrees wherever somebody looks holds some as well.
enum { LEAST_STRIDE = 16, MOST_STRIDE = 1024, STRIDES = 256, TRIES = 8 };

void kb_disturb_open(struct kb_data *d, struct kb_case_data *c, struct kb_disturb *w)
{
    *w = (struct kb_disturb){.data = d, .c = c, .key = kbe_random(d->seed, (uint64_t)kb_now_us())};
    w->nudges = kb_alloc((size_t)d->bench->arg_count * sizeof *w->nudges + 1);
}

bool kb_disturb_nudged(const struct kb_disturb *w)
{
    for (int i = 0; w->nudges && i < w->data->bench->arg_count; i++)
        if (w->nudges[i].set)
            return true;
    return false;
}

static uint64_t next(struct kb_disturb *w)
{
    return kbe_random(w->key, w->counter++);
}

static uint64_t place_of(const struct kb_disturb *w, const struct kb_buffer *b)
{
    return w->data->ops.kernels ? b->address : (uint64_t)(uintptr_t)b->host;
}

static int flush(struct kb_disturb *w, struct kbe_disturb *list, struct kb_error *e)
{
    int failed = list->poke_count || list->spoil_count ? kb_op_disturb(&w->data->ops, list, e) : 0;
    list->poke_count = list->spoil_count = 0;
    return failed;
}

static int poke(struct kb_disturb *w, struct kbe_disturb *list, int arg, const struct kb_set *s, uint64_t index,
                uint64_t code, struct kb_error *e)
{
    if (list->poke_count == KBE_MOST_POKES && flush(w, list, e))
        return -1;
    list->pokes[list->poke_count++] = (struct kbe_poke){.to = place_of(w, &s->input[arg]),
                                                        .index = index,
                                                        .code = code,
                                                        .size = kbe_size((int)w->data->bench->args[arg].dtype)};
    return 0;
}

static int put_back(struct kb_disturb *w, struct kbe_disturb *list, struct kb_error *e)
{
    for (int i = 0; i < w->data->bench->arg_count; i++) {
        struct kb_nudge *n = &w->nudges[i];
        struct kbe_fill fill;
        if (!n->set)
            continue;
        kb_fill_of(w->data, w->c, n->set->number, n->set->base, i, &fill);
        if (poke(w, list, i, n->set, n->index, kbe_fill_code(&fill, n->index), e))
            return -1;
        n->set = NULL;
    }
    return 0;
}

// A value that the fill might have had there. A fill that has only one value leaves no choice.
static int nudge(struct kb_disturb *w, struct kbe_disturb *list, int arg, struct kb_set *s, struct kb_error *e)
{
    struct kbe_fill fill, other;
    uint64_t n = (uint64_t)w->c->elements[arg];
    if (!s->input[arg].address || !n || s->stressed || !kb_fill_of(w->data, w->c, s->number, s->base, arg, &fill))
        return 0;
    other = fill;
    other.other = 0;
    for (int i = 0; i < TRIES; i++) {
        uint64_t index = next(w) % n;
        other.key = next(w);
        uint64_t code = kbe_fill_code(&other, index);
        if (code == kbe_fill_code(&fill, index))
            continue;
        if (index == w->nudges[arg].index && flush(w, list, e)) // it may have to be put back first
            return -1;
        w->nudges[arg] = (struct kb_nudge){s, index};
        return poke(w, list, arg, s, index, code, e);
    }
    return 0;
}

static int spoil(struct kb_disturb *w, struct kbe_disturb *list, int arg, const struct kb_set *s, int run,
                 struct kb_error *e)
{
    const struct kb_arg *a = &w->data->bench->args[arg];
    uint64_t n = (uint64_t)w->c->elements[arg], stride = n / STRIDES;
    if ((a->role != KB_OUTPUT && a->role != KB_SCRATCH) || !n)
        return 0;
    if (list->spoil_count == KBE_MOST_SPOILS && flush(w, list, e))
        return -1;
    list->spoils[list->spoil_count++] =
        (struct kbe_spoil){.to = place_of(w, &w->c->work[run][arg]),
                           .n = n,
                           .stride = kbe_umin(kbe_umax(stride, LEAST_STRIDE), MOST_STRIDE),
                           .key = next(w),
                           .size = s->fallback[arg] > 0 ? s->fallback[arg] : 1,
                           .dtype = (int)a->dtype};
    return 0;
}

int kb_disturb(struct kb_disturb *w, struct kb_set *s, int run, bool inputs, bool outputs, struct kb_error *e)
{
    struct kbe_disturb list = {.poke_count = 0};
    if (put_back(w, &list, e))
        return -1;
    for (int i = 0; i < w->data->bench->arg_count; i++)
        if ((inputs && nudge(w, &list, i, s, e)) || (outputs && spoil(w, &list, i, s, run, e)))
            return -1;
    return flush(w, &list, e);
}

void kb_disturb_close(struct kb_disturb *w)
{
    if (kb_disturb_nudged(w) && !kb_device_is_lost(w->data->device))
        kb_disturb(w, NULL, 0, false, false, NULL);
    free(w->nudges);
    *w = (struct kb_disturb){0};
}
