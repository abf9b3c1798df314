#include "verify/tolerance.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_TERMS = 65536, LEAST_GROUP = 32, MOST_GROUP = 65536, STRESS_FACTOR = 4 };

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
        return 0x1p-24;
    case KB_E4M3:
        return 0x1p-9;
    case KB_E5M2:
        return 0x1p-16;
    default:
        return 0;
    }
}

static double steps_of(const struct kb_sums *sums)
{
    double n = fmin(fmax(sums->terms, 1), MOST_TERMS);
    return 16 + 2 * sqrt(n) + (sums->equal ? n / 2 : 0);
}

double kb_bound_working(enum kb_dtype dtype, const struct kb_sums *sums)
{
    return (dtype == KB_F64 ? 0x1p-52 : 0x1p-23) * steps_of(sums);
}

static void automatic(enum kb_dtype dtype, const struct kb_sums *sums, struct kb_bound *b)
{
    double unit = kb_dtype_epsilon(dtype), n = fmin(fmax(sums->terms, 1), MOST_TERMS), steps = steps_of(sums);
    const char *name = kb_dtype_name(dtype), *from = sums->measured ? "measured" : "from shapes";
    bool reduced = unit > 0x1p-23 && dtype != KB_TF32, halves = dtype == KB_F16 && sums->products;
    char sum[64];
    snprintf(sum, sizeof sum, "16 + 2 sqrt(%.0f)%s", n, sums->equal ? " + n / 2" : "");
    b->bound = reduced ? 2 * unit + 0x1p-23 * steps : unit * steps;
    if (halves)
        b->bound += 0.5 * unit * sqrt(n);
    if (reduced)
        snprintf(b->why, sizeof b->why, "2 x %g (%s)%s + 2^-23 x (%s) for sums in f32; n = %.0f %s", unit, name,
                 halves ? " + 0.5 u sqrt(n) for sums of products in f16" : "", sum, n, from);
    else
        snprintf(b->why, sizeof b->why, "%.3g (%s) x (%s); n = %.0f %s%s", unit, name, sum, n, from,
                 sums->terms > MOST_TERMS ? ", limited" : "");
    snprintf(b->metric, sizeof b->metric, "scaled");
    b->rule.scaled = b->bound;
    b->rule.allowance = allowance_of(dtype);
    b->scaled_rms = b->bound / 2;
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
                           .scaled_rms = INFINITY,
                           .rmse = INFINITY,
                           .psnr_db = -INFINITY,
                           .cosine = -INFINITY,
                           .bound = NAN};
}

void kb_bound_for(const struct kb_tolerance *t, enum kb_dtype dtype, const struct kb_sums *sums, struct kb_bound *b)
{
    kb_bound_none(dtype, b);
    if (t->kind == KB_TOLERANCE_EXACT)
        return exact(b, "bit for bit, as the bench asks");
    if (t->kind == KB_TOLERANCE_AUTO && !kb_dtype_is_float(dtype))
        return exact(b, "integers must be equal, but where the reference itself takes a step");
    if (t->kind == KB_TOLERANCE_AUTO)
        return automatic(dtype, sums, b);
    take(b, "max_abs", t->max_abs, &b->rule.max_abs);
    take(b, "max_rel", t->max_rel, &b->rule.max_rel);
    take(b, "rmse", t->rmse, &b->rmse);
    take(b, "max_ulp", t->max_ulp, &b->rule.max_ulp);
    take(b, "scaled", t->scaled, &b->rule.scaled);
    take(b, "psnr_db", t->psnr_db, &b->psnr_db);
    take(b, "cosine", t->cosine, &b->cosine);
    if (!b->metric[0])
        automatic(dtype, sums, b);
}

// The loosest of what the bench gives, as a share of the size of its own results.
static double given_share(const struct kb_tolerance *t, enum kb_dtype dtype, double own_rms)
{
    const double shares[] = {own_rms > 0 ? t->max_abs / own_rms : NAN,
                             own_rms > 0 ? t->rmse / own_rms : NAN,
                             t->max_rel,
                             t->scaled,
                             t->max_ulp * kb_dtype_epsilon(dtype),
                             pow(10, -t->psnr_db / 20),
                             sqrt(2 * fmax(0, 1 - t->cosine))};
    double most = 0;
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        most = shares[i] > most ? shares[i] : most;
    return most;
}

void kb_bound_for_stress(const struct kb_tolerance *t, enum kb_dtype dtype, const struct kb_sums *sums, double own_rms,
                         struct kb_bound *b)
{
    struct kb_tolerance plain = {.kind = KB_TOLERANCE_AUTO};
    if (t->kind == KB_TOLERANCE_EXACT || !kb_dtype_is_float(dtype))
        return kb_bound_for(t->kind == KB_TOLERANCE_EXACT ? t : &plain, dtype, sums, b);
    kb_bound_for(&plain, dtype, sums, b);
    double share = t->kind == KB_TOLERANCE_BOUNDS ? given_share(t, dtype, own_rms) : 0;
    bool given = share > STRESS_FACTOR * b->bound;
    b->bound = b->rule.scaled = given ? share : STRESS_FACTOR * b->bound;
    b->scaled_rms = given ? INFINITY : STRESS_FACTOR * b->scaled_rms;
    if (given)
        snprintf(b->why, sizeof b->why, "the share that the bench's bounds are of its own results");
    else
        snprintf(b->why + strlen(b->why), sizeof b->why - strlen(b->why), "; x %d on hard inputs", STRESS_FACTOR);
}
