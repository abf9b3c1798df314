#include "verify/stress.h"
#include "base/memory.h"
#include "verify/fill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PROBES = 2 };

const char *kb_stress_name(enum kb_stress kind)
{
    static const char *const names[KB_STRESSES] = {"large values",  "tiny values", "cancellation", "equal rows",
                                                   "whole numbers", "spikes",      "far from zero"};
    return names[kind];
}

int kb_data_small_case(const struct kb_data *d)
{
    int best = -1;
    for (int i = 0; i < d->bench->case_count; i++) {
        const struct kb_case_data *c = &d->cases[i], *b = best < 0 ? NULL : &d->cases[best];
        bool plain = !d->bench->cases[i].fills, best_plain = b && !d->bench->cases[best].fills;
        if (!c->usable || !kb_case_is_small(d, c) || (best_plain && !plain))
            continue;
        if (!b || plain != best_plain || kb_case_elements(d, c) > kb_case_elements(d, b))
            best = i;
    }
    return best < 0 ? kb_data_smallest(d) : best;
}

// Values so large that exponentials overflow in the type they are taken in, and so small that squares of products of
// theirs stay normal: sums over 65,536 of products must neither overflow nor vanish in honest kernels.
static double large_of(enum kb_dtype dtype)
{
    switch (dtype) {
    case KB_F64:
        return 300;
    case KB_F16:
    case KB_E5M2:
        return 8;
    case KB_E4M3:
        return 4;
    default:
        return 100;
    }
}

// Squares are still normal numbers.
static double tiny_of(enum kb_dtype dtype)
{
    switch (dtype) {
    case KB_F64:
        return 0x1p-500;
    case KB_F16:
    case KB_E5M2:
        return 0x1p-12;
    case KB_E4M3:
        return 0x1p-5;
    default:
        return 0x1p-60;
    }
}

static bool may_be_anything(const struct kb_data *d, const struct kb_case_data *c, int arg)
{
    const struct kb_fill *own = d->bench->cases[c->index].fills;
    const struct kb_fill *f = own && own[arg].kind != KB_FILLS ? &own[arg] : &d->bench->args[arg].fill;
    const struct kb_arg *a = &d->bench->args[arg];
    return (a->role == KB_INPUT || a->role == KB_INOUT) && kb_dtype_is_float(a->dtype) && f->kind == KB_FILL_NORMAL &&
           f->mean == 0 && f->std == 1;
}

static bool applies(const struct kb_data *d, const struct kb_case_data *c)
{
    bool any = false;
    if (!d->has_reference || d->bench->reference.kind != KB_REFERENCE_KERNEL || !kb_case_is_small(d, c))
        return false;
    for (int i = 0; i < d->bench->arg_count; i++) {
        if (kb_arg_is_written(d->bench->args[i].role) && !kb_dtype_is_float(d->bench->args[i].dtype))
            return false;
        any = any || may_be_anything(d, c, i);
    }
    return any;
}

// What the narrowest type of all bears.
static double large_for(const struct kb_data *d)
{
    double large = INFINITY;
    for (int k = 0; k < d->bench->arg_count; k++)
        large = d->bench->args[k].role == KB_SCALAR ? large : fmin(large, large_of(d->bench->args[k].dtype));
    return large;
}

// -2 to 2 with zeros of both signs, so that there are ties everywhere; every second row begins as the one before it.
static double whole_of(uint64_t key, uint64_t i, uint64_t inner)
{
    static const double values[] = {-2, -1, -1, -0.0, 0, 1, 1, 2};
    uint64_t row = i / inner, column = i % inner;
    return values[kbe_random(key, (column < inner / 2 ? row & ~1ull : row) * inner + column) >> 61];
}

// One large value a row among normal numbers: in the last column, where a warp ends, or anywhere.
static double spike_of(uint64_t key, uint64_t i, uint64_t inner, double large)
{
    uint64_t row = i / inner, any = kbe_random(~key, row) % inner, last = inner - 1;
    uint64_t at[] = {last, any, (any | 31) < last ? any | 31 : last, any};
    return i % inner == at[row % 4] ? large : kbe_normal(kbe_unit(kbe_random(key, i)));
}

// A row on one side of zero, its mean far larger than its spread; narrow types bear less.
static double offset_of(uint64_t key, uint64_t i, uint64_t inner, double large)
{
    double mean = large < 100 ? large : 10 * large;
    return (kbe_random(~key, i / inner) >> 63 ? mean : -mean) + kbe_normal(kbe_unit(kbe_random(key, i)));
}

static double value_of(const struct kb_data *d, enum kb_stress kind, enum kb_dtype dtype, uint64_t key, uint64_t i,
                       uint64_t inner)
{
    double z = kbe_normal(kbe_unit(kbe_random(key, i)));
    switch (kind) {
    case KB_STRESS_LARGE:
        return large_for(d) * z;
    case KB_STRESS_TINY:
        return tiny_of(dtype) * z;
    case KB_STRESS_EQUAL_ROWS:
        return kbe_normal(kbe_unit(kbe_random(key, i / inner)));
    case KB_STRESS_WHOLE:
        return whole_of(key, i, inner);
    case KB_STRESS_SPIKES:
        return spike_of(key, i, inner, large_for(d));
    case KB_STRESS_OFFSET:
        return offset_of(key, i, inner, large_for(d));
    default: { // neighbours cancel but for the lower half of their digits
        double size = 1 + kbe_unit(kbe_random(~key, i >> 1));
        return (i & 1 ? -size : size) + size * sqrt(kb_dtype_epsilon(dtype)) * z;
    }
    }
}

struct input { // of one argument, on the host
    unsigned char *codes, *changed;
    uint64_t n;
    int size;
};

static int upload(struct kb_data *d, const struct kb_set *s, int arg, const void *codes, struct kb_error *e)
{
    const struct kb_buffer *b = &s->input[arg];
    return b->bytes && d->device->ops->to_device(d->device, b->address, codes, b->bytes, e) ? -1 : 0;
}

static int replace_inputs(struct kb_data *d, const struct kb_case_data *c, struct kb_set *s, enum kb_stress kind,
                          struct input *inputs, struct kb_error *e)
{
    for (int arg = 0; arg < d->bench->arg_count; arg++) {
        const struct kb_arg *a = &d->bench->args[arg];
        struct input *in = &inputs[arg];
        if (!s->input[arg].address || !kb_dtype_is_float(a->dtype))
            continue;
        uint64_t key = kb_fill_key(d->seed, ~(uint64_t)kind, c->index, arg);
        uint64_t inner = a->ndim && c->shape[arg][a->ndim - 1] > 0 ? (uint64_t)c->shape[arg][a->ndim - 1] : 1;
        *in = (struct input){.codes = kb_alloc(s->input[arg].bytes + 8),
                             .changed = kb_alloc(s->input[arg].bytes + 8),
                             .n = (uint64_t)c->elements[arg],
                             .size = (int)kb_dtype_bytes(a->dtype)};
        bool replace = may_be_anything(d, c, arg);
        for (uint64_t i = 0; replace && i < in->n; i++)
            kbe_store(in->codes, in->size, i, kbe_encode((int)a->dtype, value_of(d, kind, a->dtype, key, i, inner)));
        if (replace ? upload(d, s, arg, in->codes, e)
                    : d->device->ops->to_host(d->device, in->codes, s->input[arg].address, s->input[arg].bytes, e))
            return -1;
        if (kb_op_hash(&d->ops, &s->input[arg], &s->hash[arg], e))
            return -1;
    }
    return 0;
}

// Large enough to be seen in each input's type, small enough for the result to change in proportion.
static double delta_of(const struct kb_data *d, const struct input *inputs)
{
    double delta = 0x1p-16;
    for (int i = 0; i < d->bench->arg_count; i++)
        if (inputs[i].codes && d->bench->args[i].dtype != KB_F64)
            delta = fmax(delta, 2 * kb_dtype_epsilon(d->bench->args[i].dtype));
    return delta;
}

static int change_inputs(struct kb_data *d, struct kb_set *s, struct input *inputs, double delta, int probe,
                         struct kb_error *e)
{
    for (int arg = 0; arg < d->bench->arg_count; arg++) {
        struct input *in = &inputs[arg];
        int dtype = (int)d->bench->args[arg].dtype;
        if (!in->codes)
            continue;
        for (uint64_t i = 0; i < in->n; i++) {
            double v = kbe_decode(dtype, kbe_load(in->codes, in->size, i));
            bool up = kbe_random((uint64_t)(0x70726f62 + probe * 64 + arg), i) >> 63;
            kbe_store(in->changed, in->size, i, kbe_encode(dtype, v * (up ? 1 + delta : 1 - delta)));
        }
        if (upload(d, s, arg, in->changed, e) || kb_op_hash(&d->ops, &s->input[arg], &s->hash[arg], e))
            return -1;
    }
    return 0;
}

static int restore_inputs(struct kb_data *d, struct kb_set *s, const struct input *inputs, struct kb_error *e)
{
    for (int arg = 0; arg < d->bench->arg_count; arg++)
        if (inputs[arg].codes &&
            (upload(d, s, arg, inputs[arg].codes, e) || kb_op_hash(&d->ops, &s->input[arg], &s->hash[arg], e)))
            return -1;
    return 0;
}

// Sum of squares of what the result changed by, added up for each group of an output.
static int add_changes(struct kb_data *d, const struct kb_case_data *c, const struct kb_set *s, int arg,
                       const double *ref, double *sums, struct kb_error *e)
{
    uint64_t n = (uint64_t)c->elements[arg], group = kb_scale_group(d->bench->args[arg].ndim, c->shape[arg]);
    double *now = kb_alloc(n * sizeof *now + 8);
    int failed = n && d->device->ops->to_host(d->device, now, s->ref[arg].address, n * sizeof *now, e);
    for (uint64_t i = 0; !failed && i < n; i++) {
        double change = now[i] - ref[i];
        sums[i / group] += isfinite(change) ? change * change : 0;
    }
    free(now);
    return failed ? -1 : 0;
}

static int widen_scale(struct kb_data *d, const struct kb_case_data *c, struct kb_set *s, int arg, const double *sums,
                       double delta, struct kb_error *e)
{
    uint64_t n = (uint64_t)c->elements[arg], group = kb_scale_group(d->bench->args[arg].ndim, c->shape[arg]);
    uint64_t groups = s->scale[arg].bytes / sizeof(double);
    double *scale = kb_alloc(s->scale[arg].bytes + 8), whole = 0, all = 0;
    if (groups && d->device->ops->to_host(d->device, scale, s->scale[arg].address, s->scale[arg].bytes, e)) {
        free(scale);
        return -1;
    }
    for (uint64_t g = 0; g < groups; g++)
        whole += sums[g];
    whole /= n ? (double)n : 1;
    for (uint64_t g = 0; g < groups; g++) {
        uint64_t in_group = g + 1 < groups ? group : n - g * group;
        // Two probes may both miss what one row depends on; a tenth of what all rows show stands in.
        double square = fmax(sums[g] / (double)in_group, whole / 10) / PROBES / (delta * delta);
        scale[g] = sqrt(scale[g] * scale[g] + square);
        all += scale[g] * scale[g];
    }
    s->fallback[arg] = groups ? sqrt(all / (double)groups) : 0;
    int failed = groups && d->device->ops->to_device(d->device, s->scale[arg].address, scale, s->scale[arg].bytes, e);
    free(scale);
    return failed ? -1 : 0;
}

// One that the output's type can hold.
static bool any_number(const double *ref, uint64_t n, enum kb_dtype dtype)
{
    for (uint64_t i = 0; i < n; i++)
        if (isfinite(ref[i]) && isfinite(kbe_decode((int)dtype, kbe_encode((int)dtype, ref[i]))))
            return true;
    return false;
}

// Reference results by argument, on the host.
static int fetch_results(struct kb_data *d, const struct kb_case_data *c, const struct kb_set *s, double **ref,
                         bool *numbers, struct kb_error *e)
{
    *numbers = true;
    for (int arg = 0; arg < d->bench->arg_count; arg++) {
        uint64_t n = (uint64_t)c->elements[arg];
        if (!s->ref[arg].address)
            continue;
        ref[arg] = kb_alloc(n * sizeof **ref + 8);
        if (n && d->device->ops->to_host(d->device, ref[arg], s->ref[arg].address, n * sizeof **ref, e))
            return -1;
        *numbers = *numbers && any_number(ref[arg], n, d->bench->args[arg].dtype);
    }
    return 0;
}

// Runs the reference on changed inputs, then puts inputs, results and the wider scales in place.
static int probe(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, struct input *inputs, double **ref,
                 double **sums, struct kb_error *e)
{
    double delta = delta_of(d, inputs);
    for (int k = 0; k < PROBES; k++) {
        if (change_inputs(d, s, inputs, delta, k, e) || kb_set_reference(d, c, s, e))
            return -1;
        for (int arg = 0; arg < d->bench->arg_count; arg++)
            if (s->ref[arg].address && add_changes(d, c, s, arg, ref[arg], sums[arg], e))
                return -1;
    }
    if (restore_inputs(d, s, inputs, e) || kb_set_reference(d, c, s, e))
        return -1;
    for (int arg = 0; arg < d->bench->arg_count; arg++)
        if (s->ref[arg].address && widen_scale(d, c, s, arg, sums[arg], delta, e))
            return -1;
    return 0;
}

static int fill(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, enum kb_stress kind, struct kb_error *e)
{
    size_t args = (size_t)d->bench->arg_count;
    struct input *inputs = kb_alloc(args * sizeof *inputs);
    double **ref = kb_alloc(args * sizeof *ref), **sums = kb_alloc(args * sizeof *sums);
    bool numbers = false;
    for (size_t i = 0; i < args; i++)
        sums[i] = s->ref[i].address ? kb_alloc(s->scale[i].bytes + 8) : NULL;
    int failed = kb_set_inputs(d, c, s, e) || replace_inputs(d, c, s, kind, inputs, e) ||
                 kb_set_reference(d, c, s, e) || fetch_results(d, c, s, ref, &numbers, e);
    if (!failed && numbers)
        failed = probe(d, c, s, inputs, ref, sums, e);
    s->ready = s->has_reference = !failed && numbers;
    for (size_t i = 0; i < args; i++) {
        free(inputs[i].codes);
        free(inputs[i].changed);
        free(ref[i]);
        free(sums[i]);
    }
    free(inputs);
    free(ref);
    free(sums);
    return failed ? -1 : 0;
}

int kb_stress_set(struct kb_data *d, struct kb_case_data *c, enum kb_stress kind, struct kb_set **out,
                  struct kb_error *e)
{
    struct kb_error own = {0};
    *out = NULL;
    if (!applies(d, c))
        return 0;
    if (!c->stress)
        c->stress = kb_alloc(KB_STRESSES * sizeof *c->stress);
    struct kb_set *s = &c->stress[kind];
    bool tried = s->input != NULL || s->verified;
    if (!tried && d->used_bytes + c->set_bytes <= d->budget_bytes) {
        s->stressed = true;
        int failed = kb_set_make(d, c, s, &own);
        if (!failed)
            d->used_bytes += c->set_bytes;
        failed = failed || fill(d, c, s, kind, &own);
        if (failed && kb_device_is_lost(d->device)) {
            *e = own;
            return -1;
        }
    } else if (s->spoilt && fill(d, c, s, kind, e)) { // a kernel wrote into an input
        return -1;
    }
    s->verified = 1; // not to be tried again
    s->spoilt = false;
    *out = s->ready ? s : NULL;
    return 0;
}
