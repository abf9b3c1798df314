#include "verify/neighbour.h"
#include "base/memory.h"
#include "verify/stress.h"

#include <stdlib.h>

enum { SLOW_US = 300000 };

static bool is_tried(const struct kb_data *d, const char *param, int64_t value)
{
    for (int i = 0; i < d->bench->case_count; i++)
        if (kb_case_param(d->bench, i, d->on_cpu, param) == value && d->bench->cases[i].timed)
            return true;
    return false;
}

static bool add(struct kb_data *d, int case_index, const char *param, int64_t value)
{
    if (!kb_param_is_free(d, param, value))
        return false;
    if (d->neighbour_count == KB_MOST_NEIGHBOURS || is_tried(d, param, value))
        return true;
    struct kb_resized *n = &d->neighbours[d->neighbour_count++];
    *n = (struct kb_resized){.data = {.index = case_index}};
    kb_names_set(&n->sizes, param, value);
    return true;
}

// Content of a file has one size; integers may be indices, which belong to one.
static bool has_fixed_inputs(const struct kb_bench *b, int case_index)
{
    for (int arg = 0; arg < b->arg_count; arg++) {
        enum kb_fill_kind fill = kb_hard_own_fill(b, case_index, arg)->kind;
        bool indices = fill == KB_FILL_INTEGERS && !kb_dtype_is_float(b->args[arg].dtype);
        if (kb_arg_is_read(b->args[arg].role) && (fill == KB_FILL_FILE || indices))
            return true;
    }
    return false;
}

void kb_neighbours_find(struct kb_data *d)
{
    if (!d->has_reference || d->bench->reference.kind != KB_REFERENCE_KERNEL)
        return;
    const struct kb_names *params = &d->bench->params;
    d->neighbours = kb_alloc(KB_MOST_NEIGHBOURS * sizeof *d->neighbours);
    for (int i = 0; i < d->bench->case_count; i++)
        for (int k = params->count - 1; k >= 0 && d->bench->cases[i].timed && !has_fixed_inputs(d->bench, i);
             k--) { // the last is mostly the innermost
            const char *param = params->items[k].name;
            int64_t value = kb_case_param(d->bench, i, d->on_cpu, param);
            if (!add(d, i, param, value + 1))
                add(d, i, param, value - 3);
            add(d, i, param, value - 1);
        }
}

bool kb_neighbour_has_turn(const struct kb_data *d, int index, uint64_t turn)
{
    return d->on_cpu || turn % (uint64_t)d->neighbour_count == (uint64_t)index;
}

bool kb_neighbour_meets(const struct kb_data *d, const struct kb_resized *n, enum kb_stress kind, uint64_t turn)
{
    if (kind < KB_STRESS_MIXED || !kb_stress_applies(d, &n->data, kind))
        return false;
    return d->on_cpu || kind == KB_STRESS_MIXED ||
           turn / KB_MOST_NEIGHBOURS % (KB_STRESSES - KB_STRESS_MIXED) == (uint64_t)(kind - KB_STRESS_MIXED);
}

void kb_neighbours_close(struct kb_data *d)
{
    for (int i = 0; i < d->neighbour_count; i++)
        kb_resized_close(d, &d->neighbours[i]);
    free(d->neighbours);
}

static const char *make(struct kb_data *d, struct kb_resized *n, struct kb_error *e)
{
    bool suits = kb_resized_open(d, n), timed_is_slow = kb_reference_is_slower(d, &d->cases[n->data.index], SLOW_US);
    return !suits                            ? "the size does not suit the bench, or no memory"
           : timed_is_slow                   ? "the reference takes long"
           : kb_data_prepare(d, &n->data, e) ? "the reference fails there, or no memory"
                                             : NULL;
}

int kb_neighbour_prepare(struct kb_data *d, struct kb_resized *n, const char **why, struct kb_error *e)
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

int kb_neighbour_plan(struct kb_data *d, struct kb_resized *n, const struct kb_variant *v, struct kb_plan *plan,
                      struct kb_error *e)
{
    struct kb_resized_kept k = kb_resized_enter(d, n);
    int failed = kb_plan_make(d->bench, n->data.index, d->on_cpu, v, plan, e);
    kb_resized_leave(&k);
    return failed;
}
