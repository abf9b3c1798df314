#include "verify/metrics.h"
#include "base/json.h"
#include "base/memory.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static double cosine_of(const struct kbe_part *p, const char **why)
{
    if (p->sum_sq_ref == 0 && p->sum_sq_out == 0)
        *why = "both are zero";
    else if (p->sum_sq_ref == 0)
        *why = "the reference is zero";
    else if (p->sum_sq_out == 0)
        *why = "the output is zero";
    else
        return fmin(1, fmax(-1, p->dot / (sqrt(p->sum_sq_ref) * sqrt(p->sum_sq_out))));
    return NAN;
}

static double psnr_of(const struct kbe_part *p, double rmse, const char **why)
{
    if (rmse == 0)
        *why = "exact";
    else if (p->peak == 0)
        *why = "the reference is zero";
    else
        return 20 * log10(p->peak / rmse);
    return NAN;
}

void kb_metrics_of(const struct kbe_part *p, uint64_t elements, struct kb_metrics *m)
{
    *m = (struct kb_metrics){.exact = elements && !p->inexact && !p->nonfinite};
    if (!p->finite) {
        m->max_abs = m->max_rel = m->mse = m->rmse = m->psnr_db = m->cosine = m->scaled = m->max_ulp = NAN;
        m->rms_ref = NAN;
        m->no_errors = elements ? "no pair of numbers" : "nothing compared";
        m->no_max_rel = m->no_psnr = m->no_cosine = m->no_errors;
        return;
    }
    double n = (double)p->finite;
    m->max_abs = p->max_abs;
    m->scaled = p->max_scaled;
    m->max_ulp = (double)p->max_ulp;
    m->mse = p->sum_sq_err / n;
    m->rmse = sqrt(m->mse);
    m->rms_ref = sqrt(p->sum_sq_ref / n);
    m->max_rel = p->zero_ref == p->finite ? NAN : p->max_rel;
    m->no_max_rel = p->zero_ref == p->finite ? "the reference is zero" : NULL;
    m->psnr_db = psnr_of(p, m->rmse, &m->no_psnr);
    m->cosine = cosine_of(p, &m->no_cosine);
    m->constant = p->finite > 1 && p->ref_min == p->ref_max;
}

static void fail(struct kb_judgement *j, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail(struct kb_judgement *j, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(j->reason, sizeof j->reason, format, list);
    va_end(list);
    j->pass = false;
}

// One element may err as far as it may; many may not all do so.
static double most_scaled_rms(const struct kb_bound *b, uint64_t finite)
{
    return b->scaled_rms * (1 + 1 / sqrt((double)finite));
}

static double rms_of_scaled(const struct kbe_part *p)
{
    return sqrt(p->sum_sq_scaled / (double)p->finite);
}

static void judge_whole(const struct kb_bound *b, const struct kbe_part *p, const struct kb_metrics *m,
                        struct kb_judgement *j)
{
    double scaled = rms_of_scaled(p), most = most_scaled_rms(b, p->finite);
    if (scaled > most)
        fail(j, "the scaled errors' root mean square is %.3g, more than %.3g", scaled, most);
    else if (m->rmse > b->rmse)
        fail(j, "rmse %.3g is more than %.3g", m->rmse, b->rmse);
    else if (m->psnr_db < b->psnr_db)
        fail(j, "psnr %.1f dB is less than %.1f dB", m->psnr_db, b->psnr_db);
    else if (b->cosine > -2 && m->no_cosine && m->rmse > 0)
        fail(j, "no cosine: %s", m->no_cosine);
    else if (m->cosine < b->cosine)
        fail(j, "cosine %.6f is less than %.6f", m->cosine, b->cosine);
}

void kb_judge_finite(const struct kbe_part *p, uint64_t elements, struct kb_judgement *j)
{
    *j = (struct kb_judgement){.pass = true};
    if (p->nonfinite)
        fail(j, "%llu of %llu elements are NaN or infinite where the reference is a number", p->nonfinite,
             (unsigned long long)elements);
}

void kb_judge(const struct kb_bound *b, const struct kbe_part *p, const struct kb_metrics *m, uint64_t elements,
              struct kb_judgement *j)
{
    *j = (struct kb_judgement){.pass = true};
    if (!elements)
        return fail(j, "nothing compared: the output has no elements");
    kb_judge_finite(p, elements, j);
    if (!j->pass)
        return;
    if (p->invented)
        return fail(j, "%llu of %llu elements are numbers where the reference is NaN or infinite", p->invented,
                    (unsigned long long)elements);
    if (p->mismatches && b->rule.exact)
        return fail(j, "%llu of %llu elements differ", p->mismatches, (unsigned long long)elements);
    if (p->mismatches)
        return fail(j, "%llu of %llu elements are wrong: %s above %.3g", p->mismatches, (unsigned long long)elements,
                    b->metric, b->bound);
    if (!p->finite)
        return fail(j, "nothing compared: the reference has no finite element");
    judge_whole(b, p, m, j);
    if (j->pass && m->constant)
        snprintf(j->reason, sizeof j->reason, "the reference is constant (%g), which proves nothing", p->ref_min);
    else if (j->pass && p->nonfinite_both)
        snprintf(j->reason, sizeof j->reason, "%llu elements are NaN or infinite in both", p->nonfinite_both);
}

static double share(double value, double bound)
{
    return isnan(value) || !isfinite(bound) ? 0 : value == 0 ? 0 : value / bound;
}

static double largest(const double *shares, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, shares[i]);
    return most;
}

double kb_margin(const struct kb_bound *b, const struct kb_metrics *m, const struct kbe_part *p, const char **why)
{
    *why = b->rule.exact ? "bit for bit" : m->no_errors;
    if (*why)
        return NAN;
    double elements[] = {share(m->scaled, b->rule.scaled), share(m->max_abs, b->rule.max_abs),
                         share(m->max_rel, b->rule.max_rel), share(m->max_ulp, b->rule.max_ulp)};
    double whole[] = {share(rms_of_scaled(p), most_scaled_rms(b, p->finite)), share(m->rmse, b->rmse),
                      isfinite(b->psnr_db) && m->psnr_db > 0 ? b->psnr_db / m->psnr_db : 0,
                      isfinite(b->cosine) ? share(1 - m->cosine, 1 - b->cosine) : 0};
    double most = largest(elements, KB_COUNT(elements));
    most = p->mismatches ? fmax(most, 1) : fmin(most, 1); // what is below the allowance is no error
    return fmax(most, largest(whole, KB_COUNT(whole)));
}

cJSON *kb_metrics_json(const struct kb_metrics *m, const struct kbe_part *p)
{
    cJSON *o = cJSON_CreateObject();
    kb_json_measured(o, "max_abs", m->max_abs, m->no_errors);
    kb_json_measured(o, "max_rel", m->max_rel, m->no_max_rel);
    kb_json_measured(o, "mse", m->mse, m->no_errors);
    kb_json_measured(o, "rmse", m->rmse, m->no_errors);
    kb_json_measured(o, "psnr_db", m->psnr_db, m->no_psnr);
    kb_json_measured(o, "cosine", m->cosine, m->no_cosine);
    kb_json_measured(o, "max_ulp", m->max_ulp, m->no_errors);
    kb_json_measured(o, "scaled", m->scaled, m->no_errors);
    kb_json_set_number(o, "mismatches", (double)p->mismatches);
    kb_json_set_number(o, "nonfinite", (double)p->nonfinite);
    kb_json_set_number(o, "nonfinite_both", (double)p->nonfinite_both);
    kb_json_set_bool(o, "exact", m->exact);
    return o;
}

char kb_map_digit(uint64_t wrong, uint64_t all)
{
    if (!wrong)
        return '0';
    if (wrong >= all)
        return 'f';
    return "123456789abcde"[wrong * 14 / all];
}
