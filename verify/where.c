#include "verify/where.h"

#include "base/memory.h"
#include "base/text.h"
#include "verify/loops.h"
#include "verify/pattern.h"
#include "verify/rule.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct part { // of an output, from its beginning
    int ndim;
    int64_t shape[KB_MAX_DIMS];
    uint64_t elements;
    char head[48]; // what is said of a part that is not all
};

static void cut(struct part *p, int dims, int64_t first, const char *what)
{
    memmove(p->shape + 1, p->shape + p->ndim - dims, (size_t)dims * sizeof *p->shape);
    p->shape[0] = first;
    p->ndim = dims + 1;
    snprintf(p->head, sizeof p->head, "in the first %" PRId64 " %s: ", first, what);
}

// As many whole matrices, rows or elements as are looked at.
static struct part part_of(const struct kb_case_data *c, const struct kb_arg *a, int arg)
{
    struct part p = {.ndim = a->ndim, .elements = 1};
    memcpy(p.shape, c->shape[arg], (size_t)a->ndim * sizeof *p.shape);
    int64_t columns = a->ndim ? p.shape[a->ndim - 1] : 1,
            matrix = a->ndim > 1 ? p.shape[a->ndim - 2] * columns : columns;
    if (c->elements[arg] > KB_WHERE_MOST) {
        if (a->ndim > 2 && matrix <= KB_WHERE_MOST)
            cut(&p, 2, KB_WHERE_MOST / matrix, "matrices");
        else if (a->ndim > 1 && columns <= KB_WHERE_MOST)
            cut(&p, 1, KB_WHERE_MOST / columns, "rows");
        else
            cut(&p, 0, KB_WHERE_MOST, "elements");
    }
    for (int k = 0; k < p.ndim; k++)
        p.elements *= (uint64_t)p.shape[k];
    return p;
}

// The host's copy of a buffer's beginning; NULL where there is no buffer, or it failed.
static void *copy_of(struct kb_data *d, const struct kb_buffer *b, uint64_t count, uint64_t size, int *failed,
                     struct kb_error *e)
{
    if (!b || *failed)
        return NULL;
    void *to = kb_alloc((size_t)(count * size));
    *failed = d->device->ops->to_host(d->device, to, b->address, count * size, e);
    return to;
}

static int mark(struct kb_data *d, const struct kb_buffer *out, const struct kb_wanted *w, uint64_t n,
                const struct kbe_rule *rule, unsigned char *wrong, struct kb_error *e)
{
    uint64_t size = (uint64_t)kbe_size(rule->dtype), ref_size = kbe_is_float_type(rule->dtype) ? 8 : size;
    int failed = 0;
    void *got = copy_of(d, out, n, size, &failed, e), *ref = copy_of(d, w->ref, n, ref_size, &failed, e);
    double *scale = copy_of(d, w->scale, (n + rule->group - 1) / rule->group, sizeof *scale, &failed, e);
    double *condition = copy_of(d, w->condition, n, sizeof *condition, &failed, e);
    struct kbe_wanted wanted = {ref, scale, condition};
    if (!failed)
        kb_loop_mark(got, &wanted, n, rule, wrong);
    free(got);
    free(ref);
    free(scale);
    free(condition);
    return failed ? -1 : 0;
}

static void put_behind(char *reason, size_t room, const char *where)
{
    size_t used = strlen(reason);
    if (used + strlen(where) + 4 <= room)
        snprintf(reason + used, room - used, " (%s)", where);
}

// A reason that begins with another count speaks of other elements, or of something else.
static void add_to_reasons(uint64_t elements, struct kb_trial *t, struct kb_trial_output *o)
{
    char count[32];
    snprintf(count, sizeof count, "%llu of ", (unsigned long long)o->part.mismatches);
    if (o->pass || !o->where[0] || o->part.mismatches == elements || !kb_starts(o->reason, count))
        return;
    if (kb_ends(t->reason, o->reason)) // it is this output that the trial failed by
        put_behind(t->reason, sizeof t->reason, o->where);
    put_behind(o->reason, sizeof o->reason, o->where);
}

int kb_where_wrong(struct kb_data *d, const struct kb_case_data *c, const struct kb_set *s, int run, struct kb_trial *t,
                   struct kb_trial_output *o, struct kb_error *e)
{
    struct part p = part_of(c, &d->bench->args[o->arg], o->arg);
    struct kb_wanted wanted = kb_rule_wanted(s, o->arg, o->conditioned);
    unsigned char *wrong = kb_alloc((size_t)p.elements);
    char words[KB_PATTERN_ROOM] = "";
    int failed = mark(d, &c->work[run][o->arg], &wanted, p.elements, &o->bound.rule, wrong, e);
    if (!failed)
        kb_pattern_words(wrong, p.ndim, p.shape, words);
    free(wrong);
    snprintf(o->where, sizeof o->where, "%s%s", words[0] ? p.head : "", words);
    if (!failed)
        add_to_reasons((uint64_t)c->elements[o->arg], t, o);
    return failed;
}
