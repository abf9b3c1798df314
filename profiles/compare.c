#include "base/memory.h"
#include "profiles/order.h"
#include "profiles/stats.h"

#include <math.h>
#include <stdlib.h>

enum {
    FEWEST_UNPAIRED = 6, // below, the interval of a median is less than 95%
    FEWEST_PAIRED = 8,   // below, no pair of ranks encloses a median with 99%
};
// A verdict is a claim that people act on, so it asks for more than the 95% of a displayed interval: two runs of the
// same code then differ in at most 1 of 100 comparisons.
static const double PAIRED_CONFIDENCE = 0.99;

const char *kb_verdict_name(enum kb_verdict verdict)
{
    static const char *const names[] = {"UNSURE", "SAME", "FASTER", "SLOWER"};
    return (unsigned)verdict < KB_COUNT(names) ? names[verdict] : "UNSURE";
}

static double share(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

void kb_compare(const struct kb_summary *a, const struct kb_summary *b, double same, struct kb_comparison *out)
{
    *out = (struct kb_comparison){
        .ratio = share(a->median, b->median), .low = share(a->low, b->high), .high = share(a->high, b->low)};
    if (a->samples < FEWEST_UNPAIRED || b->samples < FEWEST_UNPAIRED || !isfinite(out->ratio))
        return; // a time of 0 compares with nothing
    double low = fmin(a->low, b->low), high = fmax(a->high, b->high);
    if (low > 0 && high <= low * (1 + same))
        out->verdict = KB_VERDICT_SAME;
    else if (a->high < b->low)
        out->verdict = KB_VERDICT_FASTER;
    else if (b->high < a->low)
        out->verdict = KB_VERDICT_SLOWER;
}

static enum kb_verdict judge(double low, double high, double noise, double same)
{
    if (low >= 1 - same && high <= 1 + same)
        return KB_VERDICT_SAME;
    if (high < 1 - noise)
        return KB_VERDICT_FASTER;
    if (low > 1 + noise)
        return KB_VERDICT_SLOWER;
    return KB_VERDICT_UNSURE;
}

void kb_compare_paired(const double *a, const double *b, int count, double noise, double same,
                       struct kb_comparison *out)
{
    *out = (struct kb_comparison){.ratio = NAN, .low = NAN, .high = NAN, .paired = true};
    double *logs = kb_alloc((size_t)(count > 0 ? count : 1) * sizeof *logs);
    int n = 0;
    for (int i = 0; i < count; i++) // a round that lost one side says nothing; a time of 0 neither
        if (isfinite(a[i]) && isfinite(b[i]) && a[i] > 0 && b[i] > 0)
            logs[n++] = log(a[i] / b[i]);
    if (n) {
        kb_sort_samples(logs, n);
        kb_median_interval(logs, n, PAIRED_CONFIDENCE, &out->low, &out->high);
        out->ratio = exp(kb_median_sorted(logs, n));
        out->low = exp(out->low);
        out->high = exp(out->high);
        if (n >= FEWEST_PAIRED)
            out->verdict = judge(out->low, out->high, isfinite(noise) && noise > 0 ? noise : 0, same);
    }
    free(logs);
}
