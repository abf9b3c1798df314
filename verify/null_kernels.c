#include "verify/null_kernels.h"
#include "base/memory.h"
#include "verify/fill.h"
#include "verify/metrics.h"
#include "verify/rule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum stand_in { ZEROS, CONSTANT, COPY, NOISE, ROW_MEAN, EARLIER, STAND_INS };
enum { HOST_ELEMENTS = 65536, QUICK_US = 20000 }; // outputs up to here are made on the host, which the last two need
static const char *const names[STAND_INS] = {"zeros",        "a constant",           "a copy of the input",
                                             "random noise", "the mean of each row", "the result of other inputs"};

// An inout that is left as it was is a copy, too.
static int input_like(const struct kb_data *d, const struct kb_case_data *c, const struct kb_set *s, int output)
{
    for (int i = 0; i < d->bench->arg_count; i++)
        if (s->input[i].address && d->bench->args[i].dtype == d->bench->args[output].dtype &&
            c->elements[i] == c->elements[output])
            return i;
    return -1;
}

// The reference of an output in the output's own type; owned by the caller, NULL if the device failed.
static unsigned char *fetch(struct kb_data *d, const struct kb_case_data *c, const struct kb_set *s, int arg,
                            struct kb_error *e)
{
    enum kb_dtype dtype = d->bench->args[arg].dtype, wide = kb_reference_type(dtype);
    uint64_t n = (uint64_t)c->elements[arg];
    unsigned char *ref = kb_alloc(n * kb_dtype_bytes(wide) + 8);
    if (n && d->device->ops->to_host(d->device, ref, s->ref[arg].address, n * kb_dtype_bytes(wide), e)) {
        free(ref);
        return NULL;
    }
    for (uint64_t i = 0; dtype != wide && i < n; i++) // narrower: never overtakes what is still to be read
        kbe_store(ref, (int)kb_dtype_bytes(dtype), i,
                  kbe_encode((int)dtype, kbe_from_bits(kbe_load(ref, (int)kb_dtype_bytes(wide), i))));
    return ref;
}

static int upload(struct kb_data *d, const struct kb_case_data *c, int arg, const void *codes, struct kb_error *e)
{
    const struct kb_buffer *to = &c->work[0][arg];
    return to->bytes && d->device->ops->to_device(d->device, to->address, codes, to->bytes, e) ? -1 : 1;
}

static int make_row_means(struct kb_data *d, struct kb_case_data *c, const struct kb_set *s, int arg,
                          struct kb_error *e)
{
    const struct kb_arg *a = &d->bench->args[arg];
    uint64_t n = (uint64_t)c->elements[arg], inner = a->ndim ? (uint64_t)c->shape[arg][a->ndim - 1] : 1;
    int size = (int)kb_dtype_bytes(a->dtype);
    if (n > HOST_ELEMENTS || inner < 2)
        return 0;
    unsigned char *codes = fetch(d, c, s, arg, e);
    for (uint64_t row = 0; codes && row < n; row += inner) {
        double sum = 0;
        for (uint64_t i = row; i < row + inner; i++)
            sum += kbe_decode((int)a->dtype, kbe_load(codes, size, i));
        for (uint64_t i = row; i < row + inner; i++)
            kbe_store(codes, size, i, kbe_encode((int)a->dtype, sum / (double)inner));
    }
    int made = codes ? upload(d, c, arg, codes, e) : -1;
    free(codes);
    return made;
}

// 1: made, 0: there is no such stand-in for this output, -1: failed
static int make(struct kb_data *d, struct kb_case_data *c, const struct kb_set *s, int arg, enum stand_in kind,
                unsigned char *const *earlier, struct kb_error *e)
{
    if (kind == ROW_MEAN)
        return make_row_means(d, c, s, arg, e);
    if (kind == EARLIER)
        return earlier[arg] ? upload(d, c, arg, earlier[arg], e) : 0;
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
    int input = input_like(d, c, s, arg);
    if (kind == COPY && input < 0)
        return 0;
    int failed = kind == COPY ? d->device->ops->copy(d->device, to->address, s->input[input].address, to->bytes, e)
                              : kb_op_fill(&d->ops, to, (uint64_t)c->elements[arg], &f, e);
    return failed ? -1 : 1;
}

// 1: the check lets it pass, 0: it does not, or there is nothing to tell
static int passes(struct kb_data *d, struct kb_case_data *c, const struct kb_set *s, int arg, enum stand_in kind,
                  unsigned char *const *earlier, struct kb_error *e)
{
    uint64_t n = (uint64_t)c->elements[arg];
    struct kb_wanted wanted = kb_rule_wanted(s, arg, false);
    struct kb_bound bound;
    struct kbe_part part;
    struct kb_metrics m;
    struct kb_judgement j;
    int made = make(d, c, s, arg, kind, earlier, e);
    if (made <= 0)
        return made;
    kb_rule_for(d, c, s, arg, &bound);
    if (kb_op_compare(&d->ops, &c->work[0][arg], &wanted, n, &bound.rule, &part, e))
        return -1;
    kb_metrics_of(&part, n, &m);
    kb_judge(&bound, &part, &m, n, &j);
    bool same = kind == ROW_MEAN && m.mse == 0; // rows of one value each: that is the result, not a stand-in
    return j.pass && !m.constant && !same;
}

static bool inputs_change(const struct kb_data *d, const struct kb_case_data *c)
{
    struct kbe_fill f;
    for (int i = 0; i < d->bench->arg_count; i++) {
        enum kb_role role = d->bench->args[i].role;
        if (kb_arg_is_read(role) && kb_fill_of(d, c, 0, 0, i, &f) && f.kind != KBE_CONSTANT && f.kind != KBE_ZEROS)
            return true;
    }
    return false;
}

// Results for other inputs: those of the set as it is, which then gets new values. Only where that is quick.
static int keep_earlier(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, unsigned char **earlier,
                        struct kb_error *e)
{
    if (d->bench->reference.kind != KB_REFERENCE_KERNEL || kb_reference_is_slower(d, c, QUICK_US) ||
        !inputs_change(d, c))
        return 0;
    for (int i = 0; i < d->bench->arg_count; i++)
        if (kb_arg_is_written(d->bench->args[i].role) && c->elements[i] > HOST_ELEMENTS)
            return 0;
    for (int i = 0; i < d->bench->arg_count; i++)
        if (kb_arg_is_written(d->bench->args[i].role) && !(earlier[i] = fetch(d, c, s, i, e)))
            return -1;
    return kb_set_fill(d, c, s, e);
}

static int try_all(struct kb_data *d, struct kb_case_data *c, const struct kb_set *s, unsigned char *const *earlier,
                   struct kb_error *e)
{
    for (int kind = 0; kind < STAND_INS; kind++) {
        int outputs = 0, passing = 0;
        for (int i = 0; i < d->bench->arg_count; i++) {
            if (!kb_arg_is_written(d->bench->args[i].role) || c->elements[i] < 2)
                continue;
            int pass = passes(d, c, s, i, (enum stand_in)kind, earlier, e);
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

int kb_null_kernels(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, struct kb_error *e)
{
    c->weak[0] = 0;
    if (!s->has_reference)
        return 0;
    unsigned char **earlier = kb_alloc((size_t)d->bench->arg_count * sizeof *earlier);
    int failed = keep_earlier(d, c, s, earlier, e) || try_all(d, c, s, earlier, e);
    for (int i = 0; i < d->bench->arg_count; i++)
        free(earlier[i]);
    free(earlier);
    return failed ? -1 : 0;
}
