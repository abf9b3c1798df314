#include "base/memory.h"
#include "profiles/order.h"
#include "profiles/stats.h"

#include <math.h>
#include <stdlib.h>

enum {
    FEWEST_UNPAIRED = 6, // below, the interval of a median is less than 95%
    FEWEST_PAIRED = 8,   // below, not even the extremes enclose the centre with 99%
};
// A verdict is a claim that people act on, so it asks for more than the 95% of a displayed interval: two runs of the
// same code then differ in at most 1 of 100 comparisons.
static const double PAIRED_CONFIDENCE = 0.99;
// Below it, a difference is not called one even where the interval excludes 1: identical code at other addresses of
// device memory differs by about so much.
static const double LEAST_NOISE = 0.001;
enum { MOST_BLOCKS = 64 };
static const double CLIP_SIGMAS = 4;

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

static enum kb_verdict judge(const struct kb_comparison *c, double noise, double same)
{
    if (c->low >= 1 - same && c->high <= 1 + same)
        return KB_VERDICT_SAME;
    if (c->high < 1 && c->ratio < 1 - noise)
        return KB_VERDICT_FASTER;
    if (c->low > 1 && c->ratio > 1 + noise)
        return KB_VERDICT_SLOWER;
    return KB_VERDICT_UNSURE;
}

// Log ratios by round, NAN where a round lost one side or a time is 0. Returns how many are known; known gets these.
static int log_ratios(const double *a, const double *b, int count, double *logs, double *known)
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        bool usable = isfinite(a[i]) && isfinite(b[i]) && a[i] > 0 && b[i] > 0;
        logs[i] = usable ? log(a[i] / b[i]) : NAN;
        if (usable)
            known[n++] = logs[i];
    }
    return n;
}

// A hiccup of one side (milliseconds in a run of microseconds) must not carry its block away: log ratios beyond some
// sigmas of the median count as that far off (Winsorized, symmetrically).
static void clip(double *logs, int count, double *known, int n)
{
    kb_sort_samples(known, n);
    double median = kb_median_sorted(known, n), reach = CLIP_SIGMAS * kb_robust_sigma(known, n, median);
    for (int i = 0; i < count; i++)
        if (!isnan(logs[i]))
            logs[i] = fmin(fmax(logs[i], median - reach), median + reach);
}

// Rounds that make one block. Four rounds are the smallest balanced unit (see kb_timing_run); of few rounds each must
// stand for itself.
static int block_rounds(int count, int known)
{
    if (known < 32)
        return 1;
    return known < 64 ? 2 : 4 * ((count + 4 * MOST_BLOCKS - 1) / (4 * MOST_BLOCKS));
}

// Means of consecutive rounds, in place: nearly normal, free of what the mirrored order cancels (drift, the advantage
// of being second), and no more correlated with their neighbours than the noise reaches over a whole block. Blocks with
// less than half of their rounds are left out. Returns the number of blocks.
static int make_blocks(double *logs, int count, int rounds)
{
    int blocks = 0;
    for (int first = 0; first < count; first += rounds) {
        double sum = 0;
        int n = 0;
        for (int i = first; i < first + rounds && i < count; i++)
            if (!isnan(logs[i])) {
                sum += logs[i];
                n++;
            }
        if (2 * n >= rounds && n)
            logs[blocks++] = sum / n;
    }
    return blocks;
}

// The largest k with P(W < k) <= tail for Wilcoxon's signed-rank statistic W of n values, exactly: W is the sum of
// those of 1..n that a fair coin picks.
int kb_signed_rank(int n, double tail)
{
    int sums = n * (n + 1) / 2, k = 0;
    double *p = kb_alloc((size_t)(sums + 1) * sizeof *p), below = 0;
    p[0] = 1;
    for (int rank = 1; rank <= n; rank++)
        for (int s = sums; s >= 0; s--)
            p[s] = (p[s] + (s >= rank ? p[s - rank] : 0)) / 2;
    while (k <= sums && below + p[k] <= tail)
        below += p[k++];
    free(p);
    return k;
}

// Hodges and Lehmann's estimate of the centre and the interval that belongs to Wilcoxon's test: ranks k and N+1-k of
// the N = n(n+1)/2 means of two values (a value with itself too). Assumes symmetry, which log ratios of identical code
// have whatever the distribution of the times; needs a third fewer samples than the interval of the median.
static void centre_of(const double *values, int n, struct kb_comparison *out)
{
    int means = n * (n + 1) / 2, at = 0, k = kb_signed_rank(n, (1 - PAIRED_CONFIDENCE) / 2);
    double *walsh = kb_alloc((size_t)means * sizeof *walsh);
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++)
            walsh[at++] = (values[i] + values[j]) / 2;
    kb_sort_samples(walsh, means);
    k = k < 1 ? 1 : k; // of fewer than 8 values not even the extremes reach 99%
    out->ratio = exp(kb_median_sorted(walsh, means));
    out->low = exp(walsh[k - 1]);
    out->high = exp(walsh[means - k]);
    free(walsh);
}

void kb_compare_paired(const double *a, const double *b, int count, double noise, double same,
                       struct kb_comparison *out)
{
    *out = (struct kb_comparison){.ratio = NAN, .low = NAN, .high = NAN, .paired = true};
    if (count < 1)
        return;
    double *logs = kb_alloc((size_t)count * sizeof *logs), *known = kb_alloc((size_t)count * sizeof *known);
    int n = log_ratios(a, b, count, logs, known);
    if (n) {
        clip(logs, count, known, n);
        int blocks = make_blocks(logs, count, block_rounds(count, n));
        if (blocks)
            centre_of(logs, blocks, out);
        if (blocks >= FEWEST_PAIRED)
            out->verdict = judge(out, isfinite(noise) && noise > LEAST_NOISE ? noise : LEAST_NOISE, same);
    }
    free(logs);
    free(known);
}

// 2.576 sigmas hold 99% of a normal distribution, the median of its absolute values is 0.6745 sigmas.
double kb_noise_floor(const double *spreads, int count)
{
    enum { FEWEST_CONTROLS = 5 };
    double *sorted = kb_alloc((size_t)(count > 0 ? count : 1) * sizeof *sorted);
    int n = 0;
    for (int i = 0; i < count; i++)
        if (isfinite(spreads[i]) && spreads[i] >= 0)
            sorted[n++] = spreads[i];
    kb_sort_samples(sorted, n);
    double floor = n < FEWEST_CONTROLS ? NAN : 2.576 / 0.6745 * kb_median_sorted(sorted, n);
    free(sorted);
    return floor;
}
