#include "verify/probe.h"
#include "base/memory.h"
#include "verify/fill.h"
#include "verify/rule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLOW_US = 100000,      // a reference that takes longer is not asked for sums
    PATIENCE_US = 2000000, // nor for further probes of the condition, once these have taken so long
    LEAST_PROBES = 5,
    FEW_OUTPUTS = 64,
    WINDOWS = 16, // of an output, looked at for sums
    WINDOW = 4096,
    NEIGHBOURS = 64,
};

struct kept { // what the set holds while its inputs are others; by argument
    struct kb_buffer *input, *ref;
    uint64_t *hash;
};

static bool is_moved(const struct kb_data *d, const struct kb_set *s, int arg)
{
    return s->input[arg].address && s->input[arg].bytes && kb_dtype_is_float(d->bench->args[arg].dtype);
}

static int moved_args(const struct kb_data *d, const struct kb_set *s)
{
    int count = 0;
    for (int i = 0; i < d->bench->arg_count; i++)
        count += is_moved(d, s, i);
    return count;
}

static int copy_of(struct kb_data *d, const struct kb_buffer *b, const char *name, struct kb_buffer *out,
                   struct kb_error *e)
{
    struct kb_buffer_spec spec = {
        .bytes = b->bytes, .name = name, .dtype = KB_U8, .ndim = 1, .shape = {(int64_t)b->bytes}};
    return d->device->ops->alloc(d->device, &spec, out, e) ||
                   d->device->ops->copy(d->device, out->address, b->address, b->bytes, e)
               ? -1
               : 0;
}

// Freed memory keeps its content, and a kernel on a GPU may read what it was not given: results are wiped.
static void forget(struct kb_data *d, struct kept *k)
{
    struct kb_error unused;
    for (int i = 0; i < d->bench->arg_count; i++) {
        if (k->ref[i].address)
            d->device->ops->fill(d->device, k->ref[i].address, 0, k->ref[i].bytes, &unused);
        if (k->input[i].address)
            d->device->ops->free(d->device, &k->input[i]);
        if (k->ref[i].address)
            d->device->ops->free(d->device, &k->ref[i]);
    }
    free(k->input);
    free(k->ref);
    free(k->hash);
}

static int keep(struct kb_data *d, const struct kb_set *s, struct kept *k, struct kb_error *e)
{
    size_t args = (size_t)d->bench->arg_count;
    *k = (struct kept){kb_alloc(args * sizeof *k->input), kb_alloc(args * sizeof *k->ref),
                       kb_alloc(args * sizeof *k->hash)};
    memcpy(k->hash, s->hash, args * sizeof *k->hash);
    for (int i = 0; i < d->bench->arg_count; i++)
        if ((is_moved(d, s, i) && copy_of(d, &s->input[i], "input", &k->input[i], e)) ||
            (s->ref[i].address && s->ref[i].bytes && copy_of(d, &s->ref[i], "reference", &k->ref[i], e)))
            return -1;
    return 0;
}

static int put_back(struct kb_data *d, struct kb_set *s, const struct kept *k, struct kb_error *e)
{
    memcpy(s->hash, k->hash, (size_t)d->bench->arg_count * sizeof *k->hash);
    for (int i = 0; i < d->bench->arg_count; i++) {
        const struct kb_buffer *in = &k->input[i], *ref = &k->ref[i];
        if ((in->address && d->device->ops->copy(d->device, s->input[i].address, in->address, in->bytes, e)) ||
            (ref->address && d->device->ops->copy(d->device, s->ref[i].address, ref->address, ref->bytes, e)))
            return -1;
    }
    return 0;
}

static int move_input(struct kb_data *d, const struct kb_case_data *c, struct kb_set *s, const struct kept *k, int arg,
                      const struct kbe_probe *how, struct kb_error *e)
{
    struct kbe_probe p = *how;
    int ndim = d->bench->args[arg].ndim;
    int64_t inner = ndim ? c->shape[arg][ndim - 1] : 1;
    p.inner = inner > 0 ? (uint64_t)inner : 1;
    p.dtype = (int)d->bench->args[arg].dtype;
    if (p.move != KBE_MOVE_VALUES) // there equal values of two arguments stay equal, too
        p.key = kbe_random(how->key, (uint64_t)arg);
    return kb_op_probe(&d->ops, &k->input[arg], &s->input[arg], (uint64_t)c->elements[arg], &p, e) ||
                   kb_op_hash(&d->ops, &s->input[arg], &s->hash[arg], e)
               ? -1
               : 0;
}

// ---- sums ----

// The least share of unchanged elements in a group of neighbours, over some windows of the outputs. Outputs of less
// than 32 elements tell nothing: NAN.
static double unchanged_in(const double *now, const double *before, uint64_t n, uint64_t group)
{
    double least = 1;
    for (uint64_t at = 0; at + group <= n; at += group) {
        uint64_t same = 0;
        for (uint64_t i = at; i < at + group; i++)
            same += !memcmp(&now[i], &before[i], sizeof now[i]);
        least = fmin(least, (double)same / (double)group);
    }
    return least;
}

static int unchanged(struct kb_data *d, const struct kb_case_data *c, const struct kb_set *s, const struct kept *k,
                     int arg, double *share, struct kb_error *e)
{
    uint64_t n = (uint64_t)c->elements[arg], group = kbe_umin(n, NEIGHBOURS);
    uint64_t windows = n > WINDOWS * WINDOW ? WINDOWS : 1, length = windows > 1 ? WINDOW : n;
    double *now = kb_alloc(length * sizeof *now + 8), *before = kb_alloc(length * sizeof *before + 8);
    int failed = 0;
    *share = n < 32 ? NAN : 1;
    for (uint64_t w = 0; w < windows && n >= 32 && !failed; w++) {
        uint64_t at = windows > 1 ? w * ((n - length) / (windows - 1)) : 0;
        failed = d->device->ops->to_host(d->device, now, s->ref[arg].address + at * 8, length * 8, e) ||
                 d->device->ops->to_host(d->device, before, k->ref[arg].address + at * 8, length * 8, e);
        *share = failed ? *share : fmin(*share, unchanged_in(now, before, length, group));
    }
    free(now);
    free(before);
    return failed ? -1 : 0;
}

static int least_unchanged(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, const struct kept *k,
                           double *share, struct kb_error *e)
{
    *share = 1;
    for (int i = 0; i < d->bench->arg_count; i++) {
        double one;
        if (!k->ref[i].address || !kb_dtype_is_float(d->bench->args[i].dtype))
            continue;
        if (unchanged(d, c, s, k, i, &one, e))
            return -1;
        *share = isnan(one) || isnan(*share) ? NAN : fmin(*share, one);
    }
    return 0;
}

// How many elements of one argument an output depends on; NAN: more than can be told.
static int fan_in(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, const struct kept *k, int arg,
                  double *terms, struct kb_error *e)
{
    static const uint64_t one_of[] = {4, 32};
    *terms = NAN;
    for (size_t i = 0; i < KB_COUNT(one_of) && isnan(*terms); i++) {
        struct kbe_probe p = {.key = 0x73756d73 + i, .one_of = one_of[i], .delta = 0x1p-6, .move = KBE_MOVE_SOME};
        double share;
        if (move_input(d, c, s, k, arg, &p, e) || kb_set_results(d, c, s, e) ||
            least_unchanged(d, c, s, k, &share, e) || put_back(d, s, k, e))
            return -1;
        if (isnan(share) || (i && share == 1))
            break;
        if (share > 0)
            *terms = fmax(1, log(share) / log1p(-1.0 / (double)one_of[i]));
    }
    if (c->elements[arg] < 32) // of so few each may be used
        *terms = (double)c->elements[arg];
    return 0;
}

static int measure_sums(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, const struct kept *k,
                        struct kb_error *e)
{
    struct kb_sums sums = {.measured = true, .equal = c->sums.equal};
    int factors = 0; // arguments in f16 of which many elements meet in a result
    for (int i = 0; i < d->bench->arg_count; i++) {
        double terms;
        if (!is_moved(d, s, i))
            continue;
        if (fan_in(d, c, s, k, i, &terms, e))
            return -1;
        sums.measured = sums.measured && !isnan(terms);
        sums.terms += isnan(terms) ? 0 : terms;
        factors += d->bench->args[i].dtype == KB_F16 && !(terms <= 4);
    }
    sums.products = factors > 1;
    sums.terms = ceil(sums.measured ? fmax(1, sums.terms) : fmax(c->sums.terms, sums.terms));
    c->sums = sums;
    return 0;
}

static bool has_float_output(const struct kb_data *d, const struct kb_set *s)
{
    for (int i = 0; i < d->bench->arg_count; i++)
        if (s->scale[i].address)
            return true;
    return false;
}

// Memory that is missing is no fault of anybody; what is left of the set must then be made whole.
static int after_failure(struct kb_data *d, struct kb_error *own, struct kb_error *e)
{
    if (!kb_device_is_lost(d->device) && !kb_data_was_stopped(d)) {
        d->reference_failed = false; // on inputs that nobody asked it for
        return 0;
    }
    *e = *own;
    return -1;
}

int kb_probe_sums(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, struct kb_error *e)
{
    struct kb_error own = {0};
    struct kept k;
    if (!s->has_reference || d->bench->reference.kind != KB_REFERENCE_KERNEL || !has_float_output(d, s) ||
        !moved_args(d, s) || kb_reference_is_slower(d, c, SLOW_US))
        return 0;
    double took = c->reference_us, spent = c->reference_spent_us;
    bool kept = !keep(d, s, &k, &own);
    int failed = !kept || measure_sums(d, c, s, &k, &own);
    if (failed && kept && !kb_device_is_lost(d->device))
        put_back(d, s, &k, &own);
    c->reference_us = took;
    c->reference_spent_us = spent;
    forget(d, &k);
    return failed ? after_failure(d, &own, e) : 0;
}

// ---- condition ----

// What an integer output may be off by is asked with equal inputs kept equal: which of two that tie is taken (argmax, a
// comparison) is the reference's to say, and no rounding changes it.
enum speaks_for { FLOATS = 1, INTEGERS = 2 };
static const struct {
    int move;
    unsigned speaks_for;
} moves[] = {
    {KBE_MOVE_UP, FLOATS | INTEGERS}, {KBE_MOVE_UP, FLOATS},       {KBE_MOVE_HIGHER, FLOATS | INTEGERS},
    {KBE_MOVE_ROWS, FLOATS},          {KBE_MOVE_RANDOM, FLOATS},   {KBE_MOVE_ROWS, FLOATS},
    {KBE_MOVE_RANDOM, FLOATS},        {KBE_MOVE_ROWS, FLOATS},     {KBE_MOVE_RANDOM, FLOATS},
    {KBE_MOVE_ROWS, FLOATS},          {KBE_MOVE_RANDOM, FLOATS},   {KBE_MOVE_DOWN, FLOATS | INTEGERS},
    {KBE_MOVE_RANDOM, FLOATS},        {KBE_MOVE_RANDOM, FLOATS},   {KBE_MOVE_RANDOM, FLOATS},
    {KBE_MOVE_RANDOM, FLOATS},        {KBE_MOVE_RANDOM, FLOATS},   {KBE_MOVE_RANDOM, FLOATS},
    {KBE_MOVE_RANDOM, FLOATS},        {KBE_MOVE_VALUES, INTEGERS}, {KBE_MOVE_VALUES, INTEGERS},
    {KBE_MOVE_VALUES, INTEGERS},      {KBE_MOVE_VALUES, INTEGERS}, {KBE_MOVE_VALUES, INTEGERS},
    {KBE_MOVE_VALUES, INTEGERS},      {KBE_MOVE_VALUES, INTEGERS}, {KBE_MOVE_VALUES, INTEGERS},
    {KBE_MOVE_VALUES, INTEGERS},      {KBE_MOVE_VALUES, INTEGERS}, {KBE_MOVE_VALUES, INTEGERS},
    {KBE_MOVE_VALUES, INTEGERS},
};
enum { ALTERNATING = 1, USUAL_PROBES = 11 };

// Arithmetic goes on in the widest type of all, single precision at least.
static double working_bound(const struct kb_data *d, const struct kb_sums *sums)
{
    for (int i = 0; i < d->bench->arg_count; i++)
        if (kb_arg_is_written(d->bench->args[i].role) && d->bench->args[i].dtype == KB_F64)
            return kb_bound_working(KB_F64, sums);
    return kb_bound_working(KB_F32, sums);
}

static double delta_for(const struct kb_data *d, const struct kb_set *s, double working)
{
    double delta = working;
    for (int i = 0; i < d->bench->arg_count; i++)
        if (is_moved(d, s, i))
            delta = fmax(delta, 2 * kb_dtype_epsilon(d->bench->args[i].dtype));
    return delta;
}

static bool is_narrow(enum kb_dtype dtype)
{
    return kb_dtype_is_float(dtype) && kb_dtype_epsilon(dtype) > 0x1p-23 && dtype != KB_TF32;
}

static bool has_narrow_output(const struct kb_data *d, const struct kb_set *s)
{
    for (int i = 0; i < d->bench->arg_count; i++)
        if (s->scale[i].address && is_narrow(d->bench->args[i].dtype))
            return true;
    return false;
}

static int make_conditions(struct kb_data *d, const struct kb_case_data *c, struct kb_set *s, struct kb_error *e)
{
    for (int i = 0; i < d->bench->arg_count; i++) {
        struct kb_buffer_spec spec = {.bytes = (size_t)c->elements[i] * sizeof(double),
                                      .name = "condition",
                                      .dtype = KB_F64,
                                      .ndim = 1,
                                      .shape = {c->elements[i]}};
        if (!s->ref[i].address || !spec.bytes)
            continue;
        if ((!s->condition[i].address && d->device->ops->alloc(d->device, &spec, &s->condition[i], e)) ||
            d->device->ops->fill(d->device, s->condition[i].address, 0, spec.bytes, e))
            return -1;
    }
    return 0;
}

// By which a floating result's movement is multiplied; integers count in steps.
static double factor_of(const struct kb_data *d, const struct kb_case_data *c, const struct kb_set *s, int arg,
                        double working, double delta)
{
    enum kb_dtype dtype = d->bench->args[arg].dtype;
    struct kb_tolerance plain = {.kind = KB_TOLERANCE_AUTO};
    struct kb_sums sums = kb_rule_sums(c, s);
    struct kb_bound b;
    if (!kb_dtype_is_float(dtype))
        return 1;
    kb_bound_for(&plain, dtype, &sums, &b);
    double arithmetic = dtype == KB_F16 && sums.products ? b.bound : fmin(working, b.bound);
    return arithmetic / b.bound / delta;
}

static unsigned speaker(const struct kb_data *d, int arg)
{
    return kb_dtype_is_float(d->bench->args[arg].dtype) ? FLOATS : INTEGERS;
}

static int one_probe(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, const struct kept *k, int index,
                     double working, double delta, struct kb_error *e)
{
    int nth = 0;
    for (int i = 0; i < d->bench->arg_count; i++) {
        struct kbe_probe p = {
            .key = 0x70726f62 + (uint64_t)index, .one_of = 1, .delta = delta, .move = moves[index].move};
        if (!is_moved(d, s, i))
            continue;
        if (index == ALTERNATING && nth++ % 2)
            p.move = KBE_MOVE_DOWN;
        if (move_input(d, c, s, k, i, &p, e))
            return -1;
    }
    if (kb_set_results(d, c, s, e))
        return -1;
    for (int i = 0; i < d->bench->arg_count; i++)
        if (k->ref[i].address && (speaker(d, i) & moves[index].speaks_for) &&
            kb_op_moved(&d->ops, &s->ref[i], &k->ref[i], &s->condition[i], (uint64_t)c->elements[i],
                        d->bench->args[i].dtype, factor_of(d, c, s, i, working, delta), e))
            return -1;
    return 0;
}

static int move_one(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, const struct kept *k, int arg,
                    const struct kbe_probe *p, struct kb_error *e)
{
    return put_back(d, s, k, e) || move_input(d, c, s, k, arg, p, e) || kb_set_results(d, c, s, e) ? -1 : 0;
}

// Whether results grow by a share as this argument does: told from the first elements of each output.
static int is_linear(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, const struct kept *k, int arg,
                     bool *linear, struct kb_error *e)
{
    struct kbe_probe p = {.one_of = 1, .delta = 1, .move = KBE_MOVE_UP}; // doubled: exact in every type
    double now[NEIGHBOURS], before[NEIGHBOURS];
    *linear = true;
    if (move_one(d, c, s, k, arg, &p, e))
        return -1;
    for (int i = 0; i < d->bench->arg_count; i++) {
        uint64_t n = kbe_umin((uint64_t)c->elements[i], NEIGHBOURS);
        if (!s->scale[i].address || !n)
            continue;
        if (d->device->ops->to_host(d->device, now, s->ref[i].address, n * 8, e) ||
            d->device->ops->to_host(d->device, before, k->ref[i].address, n * 8, e))
            return -1;
        for (uint64_t at = 0; at < n; at++)
            *linear = *linear && fabs(now[at] - 2 * before[at]) <= 1e-6 * fabs(before[at]);
    }
    return 0;
}

// What rounding the weights of a sum to the type of the result does.
static int probe_weights(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, const struct kept *k,
                         double delta, struct kb_error *e)
{
    for (int arg = 0; arg < d->bench->arg_count; arg++) {
        bool linear = false;
        if (!is_moved(d, s, arg) || !has_narrow_output(d, s))
            continue;
        if (is_linear(d, c, s, k, arg, &linear, e))
            return -1;
        for (int i = 0; linear && i < 2; i++) {
            struct kbe_probe p = {
                .key = 0x77656967 + (uint64_t)i, .one_of = 1, .delta = delta, .move = KBE_MOVE_RANDOM};
            if (move_one(d, c, s, k, arg, &p, e))
                return -1;
            for (int out = 0; out < d->bench->arg_count; out++)
                if (k->ref[out].address && is_narrow(d->bench->args[out].dtype) &&
                    kb_op_moved(&d->ops, &s->ref[out], &k->ref[out], &s->condition[out], (uint64_t)c->elements[out],
                                d->bench->args[out].dtype, 1 / delta, e))
                    return -1;
        }
    }
    return 0;
}

static int level(struct kb_data *d, const struct kb_case_data *c, struct kb_set *s, struct kb_error *e)
{
    for (int i = 0; i < d->bench->arg_count; i++) {
        uint64_t n = (uint64_t)c->elements[i], group = kb_scale_group(d->bench->args[i].ndim, c->shape[i]);
        struct kb_buffer levels = {0};
        if (!s->condition[i].address || !s->scale[i].address)
            continue;
        int failed = copy_of(d, &s->scale[i], "levels", &levels, e) ||
                     kb_op_group_scale(&d->ops, &s->condition[i], n, group, &levels, e) ||
                     kb_op_level(&d->ops, &s->condition[i], n, group, &levels, e) || d->device->ops->sync(d->device, e);
        if (levels.address)
            d->device->ops->free(d->device, &levels);
        if (failed)
            return -1;
    }
    return 0;
}

// Whether the probe says something about an output. Of many floating ones the usual probes say enough.
static bool is_asked(const struct kb_data *d, const struct kb_case_data *c, const struct kb_set *s, int index)
{
    for (int i = 0; i < d->bench->arg_count; i++) {
        unsigned speaks = s->ref[i].address ? speaker(d, i) & moves[index].speaks_for : 0;
        if ((speaks & INTEGERS) || (speaks && (index < USUAL_PROBES || c->elements[i] < FEW_OUTPUTS)))
            return true;
    }
    return false;
}

static int all_probes(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, const struct kept *k,
                      struct kb_error *e)
{
    struct kb_sums sums = kb_rule_sums(c, s);
    double working = working_bound(d, &sums), delta = delta_for(d, s, working), start = kb_spent_us(d);
    int args = moved_args(d, s), made = 0;
    for (int i = 0; i < (int)KB_COUNT(moves); i++) {
        if (!is_asked(d, c, s, i) || (i == ALTERNATING && args < 2))
            continue;
        if (made++ >= LEAST_PROBES && kb_spent_us(d) - start > PATIENCE_US)
            break;
        if (one_probe(d, c, s, k, i, working, delta, e))
            return -1;
    }
    return probe_weights(d, c, s, k, delta, e) || level(d, c, s, e) ? -1 : 0;
}

int kb_probe_condition(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, struct kb_error *e)
{
    struct kb_error own = {0};
    struct kept k;
    if (s->probed || !s->has_reference || d->bench->reference.kind == KB_REFERENCE_FILE || !moved_args(d, s))
        return 0;
    double took = c->reference_us, spent = c->reference_spent_us;
    bool kept = !keep(d, s, &k, &own);
    int failed = !kept || make_conditions(d, c, s, &own) || all_probes(d, c, s, &k, &own);
    if (kept && !kb_device_is_lost(d->device) && put_back(d, s, &k, &own))
        failed = -1;
    s->probed = !failed;
    s->hashed = false; // the condition decides, too
    c->reference_us = took;
    c->reference_spent_us = spent;
    forget(d, &k);
    return failed ? after_failure(d, &own, e) : 0;
}
