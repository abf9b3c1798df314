#include "verify/neighbour.h"
#include "base/memory.h"

#include <stdlib.h>

enum { SLOW_US = 300000 };

// The bench itself has an odd size there, so no kernel may count on another; and larger and smaller ones than this, so
// none may count on less.
static bool is_free(const struct kb_data *d, const char *param, int64_t value)
{
    int64_t least = value, most = value;
    bool odd = false;
    for (int i = 0; i < d->bench->case_count; i++) {
        int64_t has = kb_case_param(d->bench, i, d->on_cpu, param);
        odd = odd || (has > 1 && has % 2);
        least = i && least < has ? least : has;
        most = i && most > has ? most : has;
    }
    return odd && value >= least && value <= most;
}

static bool is_tried(const struct kb_data *d, const char *param, int64_t value)
{
    for (int i = 0; i < d->bench->case_count; i++)
        if (kb_case_param(d->bench, i, d->on_cpu, param) == value && d->bench->cases[i].timed)
            return true;
    return false;
}

static void add(struct kb_data *d, int case_index, const char *param, int64_t value)
{
    if (d->neighbour_count == KB_MOST_NEIGHBOURS || !is_free(d, param, value) || is_tried(d, param, value))
        return;
    struct kb_neighbour *n = &d->neighbours[d->neighbour_count++];
    *n = (struct kb_neighbour){.data = {.index = case_index}, .param = param, .value = value};
}

// Content of a file has one size; integers may be indices, which belong to one.
static bool has_fixed_inputs(const struct kb_bench *b)
{
    for (int i = 0; i < b->case_count; i++)
        for (int arg = 0; arg < b->arg_count; arg++) {
            enum kb_fill_kind fill = kb_hard_own_fill(b, i, arg)->kind;
            if (kb_arg_is_read(b->args[arg].role) && (fill == KB_FILL_FILE || fill == KB_FILL_INTEGERS))
                return true;
        }
    return false;
}

void kb_neighbours_find(struct kb_data *d)
{
    if (!d->has_reference || d->bench->reference.kind != KB_REFERENCE_KERNEL || has_fixed_inputs(d->bench))
        return;
    const struct kb_names *params = &d->bench->params;
    d->neighbours = kb_alloc(KB_MOST_NEIGHBOURS * sizeof *d->neighbours);
    for (int i = 0; i < d->bench->case_count; i++)
        for (int k = params->count - 1; k >= 0 && d->bench->cases[i].timed; k--) { // the last is mostly the innermost
            const char *param = params->items[k].name;
            int64_t value = kb_case_param(d->bench, i, d->on_cpu, param);
            add(d, i, param, value + 1);
            add(d, i, param, value - 1);
        }
}

bool kb_neighbour_has_turn(const struct kb_data *d, int index, uint64_t turn)
{
    return d->on_cpu || turn % (uint64_t)d->neighbour_count == (uint64_t)index;
}

void kb_neighbours_close(struct kb_data *d)
{
    for (int i = 0; i < d->neighbour_count; i++)
        if (d->neighbours[i].opened)
            kb_case_close(d, &d->neighbours[i].data);
    free(d->neighbours);
}

// While the case has this size. Names that are set later win.
struct kept {
    struct kb_names *over, before;
};
static struct kept enter(struct kb_data *d, const struct kb_neighbour *n)
{
    struct kb_case *c = &d->bench->cases[n->data.index];
    struct kept k = {.over = d->on_cpu ? &c->cpu_over : &c->over};
    kb_names_copy(&k.before, k.over);
    kb_names_set(k.over, n->param, n->value);
    return k;
}
static void leave(struct kept *k)
{
    kb_names_free(k->over);
    *k->over = k->before;
}

static const char *make(struct kb_data *d, struct kb_neighbour *n, struct kb_error *e)
{
    struct kept k = enter(d, n);
    if (!n->opened)
        kb_case_open(d, n->data.index, &n->data);
    n->opened = true;
    leave(&k);
    bool timed_is_slow = kb_reference_is_slower(d, &d->cases[n->data.index], SLOW_US);
    return !n->data.usable                   ? "the size does not suit the bench, or no memory"
           : timed_is_slow                   ? "the reference takes long"
           : kb_data_prepare(d, &n->data, e) ? "the reference fails there, or no memory"
                                             : NULL;
}

int kb_neighbour_prepare(struct kb_data *d, struct kb_neighbour *n, const char **why, struct kb_error *e)
{
    struct kb_error own = {0};
    *why = make(d, n, &own);
    if (kb_device_is_lost(d->device) || (*why && kb_data_was_stopped(d))) {
        *e = own;
        return -1;
    }
    if (*why)
        d->reference_failed = false; // nobody asked it for this size
    return 0;
}

int kb_neighbour_plan(struct kb_data *d, struct kb_neighbour *n, const struct kb_variant *v, struct kb_plan *plan,
                      struct kb_error *e)
{
    struct kept k = enter(d, n);
    int failed = kb_plan_make(d->bench, n->data.index, d->on_cpu, v, plan, e);
    leave(&k);
    return failed;
}
