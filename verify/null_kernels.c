#include "verify/null_kernels.h"
#include "verify/metrics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum stand_in { ZEROS, CONSTANT, COPY, NOISE, STAND_INS };
static const char *const names[STAND_INS] = {"zeros", "a constant", "a copy of the input", "random noise"};

static int input_like(const struct kb_data *d, const struct kb_case_data *c, int output)
{
    for (int i = 0; i < d->bench->arg_count; i++)
        if (d->bench->args[i].role == KB_INPUT && d->bench->args[i].dtype == d->bench->args[output].dtype &&
            c->elements[i] == c->elements[output])
            return i;
    return -1;
}

// 1: made, 0: there is no such stand-in for this output, -1: failed
static int make(struct kb_data *d, struct kb_case_data *c, const struct kb_set *s, int arg, enum stand_in kind,
                struct kb_error *e)
{
    const struct kb_buffer *to = &c->work[0][arg];
    double size = kb_dtype_is_float(d->bench->args[arg].dtype) ? s->fallback[arg] : 1;
    struct kbe_fill f = {.key = 0x6e756c6cu,
                         .inner = 1,
                         .rows = 1,
                         .b = size,
                         .dtype = (int)d->bench->args[arg].dtype,
                         .kind = kind == NOISE   ? KBE_NORMAL
                                 : kind == ZEROS ? KBE_ZEROS
                                                 : KBE_CONSTANT};
    if (kind == CONSTANT)
        f.a = size;
    int input = input_like(d, c, arg);
    if (kind == COPY && input < 0)
        return 0;
    int failed = kind == COPY ? d->device->ops->copy(d->device, to->address, s->input[input].address, to->bytes, e)
                              : kb_op_fill(&d->ops, to, (uint64_t)c->elements[arg], &f, e);
    return failed ? -1 : 1;
}

// 1: the check lets it pass, 0: it does not, or there is nothing to tell
static int passes(struct kb_data *d, struct kb_case_data *c, const struct kb_set *s, int arg, enum stand_in kind,
                  struct kb_error *e)
{
    const struct kb_arg *a = &d->bench->args[arg];
    uint64_t n = (uint64_t)c->elements[arg];
    struct kb_bound bound;
    struct kbe_part part;
    struct kb_metrics m;
    struct kb_judgement j;
    int made = make(d, c, s, arg, kind, e);
    if (made <= 0)
        return made;
    kb_bound_for(&d->bench->tolerance, a->dtype, c->terms, &bound);
    bound.rule.group = kb_scale_group(a->ndim, c->shape[arg]);
    bound.rule.fallback = s->fallback[arg];
    if (kb_op_compare(&d->ops, &c->work[0][arg], &s->ref[arg], s->scale[arg].address ? &s->scale[arg] : NULL, n,
                      &bound.rule, &part, e))
        return -1;
    kb_metrics_of(&part, n, &m);
    kb_judge(&bound, &part, &m, n, &j);
    return j.pass && !m.constant;
}

int kb_null_kernels(struct kb_data *d, struct kb_case_data *c, const struct kb_set *s, struct kb_error *e)
{
    c->weak[0] = 0;
    for (int kind = 0; s->has_reference && kind < STAND_INS; kind++) {
        int outputs = 0, passing = 0;
        for (int i = 0; i < d->bench->arg_count; i++) {
            if (!kb_arg_is_written(d->bench->args[i].role) || c->elements[i] < 2)
                continue;
            int pass = passes(d, c, s, i, (enum stand_in)kind, e);
            if (pass < 0)
                return -1;
            outputs++;
            passing += pass;
        }
        if (!outputs || passing < outputs)
            continue;
        snprintf(c->weak, sizeof c->weak, "%s would pass, too: tolerance or inputs of the bench are too weak",
                 names[kind]);
        return 0;
    }
    return 0;
}
