#include "verify/tolerance.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_TERMS = 65536, LEAST_GROUP = 32, MOST_GROUP = 65536 };

double kb_terms(int inputs, const int64_t *input_elements, const int64_t *longest, int64_t output_elements)
{
    double terms = 1;
    for (int i = 0; i < inputs; i++) {
        double each = output_elements > 0 ? (double)input_elements[i] / (double)output_elements : 1;
        terms = fmax(terms, fmax(each, (double)longest[i]));
    }
    return terms;
}

uint64_t kb_scale_group(int ndim, const int64_t *shape)
{
    uint64_t group = 1;
    for (int i = ndim - 1; i >= 0 && group < LEAST_GROUP; i--)
        group *= shape[i] > 0 ? (uint64_t)shape[i] : 1;
    return group > MOST_GROUP ? MOST_GROUP : group;
}

static double allowance_of(enum kb_dtype dtype)
{
    switch (dtype) {
    case KB_F64:
        return 0x1p-1022;
    case KB_F32:
    case KB_TF32:
    case KB_BF16:
        return 0x1p-126;
    case KB_F16:
        return 0.75 * 0x1p-24;
    case KB_E4M3:
        return 0.75 * 0x1p-9;
    case KB_E5M2:
        return 0.75 * 0x1p-16;
    default:
        return 0;
    }
}

static void automatic(enum kb_dtype dtype, double terms, struct kb_bound *b)
{
    double unit = kb_dtype_epsilon(dtype), n = fmin(fmax(terms, 1), MOST_TERMS), steps = 16 + 2 * sqrt(n);
    const char *name = kb_dtype_name(dtype);
    bool reduced = unit > 0x1p-23 && dtype != KB_TF32;
    b->bound = reduced ? 1.5 * unit + 0x1p-23 * steps : unit * steps;
    if (reduced)
        snprintf(b->why, sizeof b->why, "1.5 x %g (%s) + 2^-23 x (16 + 2 sqrt(%.0f)) for sums in f32", unit, name, n);
    else
        snprintf(b->why, sizeof b->why, "%.3g (%s) x (16 + 2 sqrt(%.0f)), sums of %.0f%s", unit, name, n, n,
                 terms > MOST_TERMS ? " (limited)" : "");
    snprintf(b->metric, sizeof b->metric, "scaled");
    b->rule.scaled = b->bound;
    b->rule.allowance = allowance_of(dtype);
    b->scaled_rmse = b->bound / 2;
}

static void exact(struct kb_bound *b, const char *why)
{
    b->rule.exact = 1;
    snprintf(b->metric, sizeof b->metric, "exact");
    snprintf(b->why, sizeof b->why, "%s", why);
}

static void take(struct kb_bound *b, const char *metric, double given, double *bound)
{
    if (isnan(given))
        return;
    *bound = given;
    if (!b->metric[0]) {
        snprintf(b->metric, sizeof b->metric, "%s", metric);
        b->bound = given;
    }
    size_t used = strlen(b->why);
    snprintf(b->why + used, sizeof b->why - used, "%s%s %g", used ? ", " : "given by the bench: ", metric, given);
}

void kb_bound_none(enum kb_dtype dtype, struct kb_bound *b)
{
    *b = (struct kb_bound){.rule = {.max_abs = INFINITY,
                                    .max_rel = INFINITY,
                                    .max_ulp = INFINITY,
                                    .scaled = INFINITY,
                                    .group = 1,
                                    .dtype = (int)dtype},
                           .scaled_rmse = INFINITY,
                           .rmse = INFINITY,
                           .psnr_db = -INFINITY,
                           .cosine = -INFINITY,
                           .bound = NAN};
}

void kb_bound_for(const struct kb_tolerance *t, enum kb_dtype dtype, double terms, struct kb_bound *b)
{
    kb_bound_none(dtype, b);
    if (t->kind == KB_TOLERANCE_EXACT)
        return exact(b, "bit for bit, as the bench asks");
    if (t->kind == KB_TOLERANCE_AUTO && !kb_dtype_is_float(dtype))
        return exact(b, "integers must be equal");
    if (t->kind == KB_TOLERANCE_AUTO)
        return automatic(dtype, terms, b);
    take(b, "max_abs", t->max_abs, &b->rule.max_abs);
    take(b, "max_rel", t->max_rel, &b->rule.max_rel);
    take(b, "rmse", t->rmse, &b->rmse);
    take(b, "max_ulp", t->max_ulp, &b->rule.max_ulp);
    take(b, "scaled", t->scaled, &b->rule.scaled);
    take(b, "psnr_db", t->psnr_db, &b->psnr_db);
    take(b, "cosine", t->cosine, &b->cosine);
    if (!b->metric[0])
        automatic(dtype, terms, b);
}

void kb_bound_for_stress(const struct kb_tolerance *t, enum kb_dtype dtype, double terms, struct kb_bound *b)
{
    if (t->kind != KB_TOLERANCE_BOUNDS) {
        kb_bound_for(t, dtype, terms, b);
        b->scaled_rmse = INFINITY;
        return;
    }
    kb_bound_none(dtype, b);
    snprintf(b->metric, sizeof b->metric, "nonfinite");
    b->bound = 0;
    snprintf(b->why, sizeof b->why, "the bench's bounds are for its own inputs; on these only NaN and infinity count");
}
