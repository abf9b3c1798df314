#include "profiles/stats.h"
#include "base/memory.h"
#include "profiles/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double CONFIDENCE = 0.95;
static const double MAD_TO_SIGMA = 1.4826;          // of a normal distribution
static const double MEAN_TO_SIGMA = 1.2533;         // mean absolute deviation, sqrt(pi/2)
enum { OUTLIER_SIGMAS = 5, FEWEST_FOR_DRIFT = 18 }; // thirds of 6 have an interval of their own

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void kb_sort_samples(double *samples, int count)
{
    qsort(samples, (size_t)count, sizeof *samples, by_value);
}

double kb_median_sorted(const double *sorted, int count)
{
    if (count < 1)
        return NAN;
    double low = sorted[(count - 1) / 2], high = sorted[count / 2];
    return low + (high - low) / 2;
}

// Ranks k and n+1-k of n sorted values enclose the median with probability 1 - 2 P(X <= k-1), X binomial(n, 1/2), since
// each value lies below the median with probability 1/2 whatever the distribution (David & Nagaraja, Order Statistics,
// 7.1). From 1,000 values on by the normal approximation.
int kb_median_rank(int n, double confidence)
{
    double tail = (1 - confidence) / 2;
    if (n >= 1000) {
        double z = confidence > 0.97 ? 2.575829 : 1.959964; // the two levels in use: 99% and 95%
        int k = (int)floor((n - z * sqrt(n)) / 2);
        return k < 1 ? 1 : k;
    }
    double term = ldexp(1, -n), sum = 0;
    int k = 0;
    while (k < n / 2 && sum + term <= tail) {
        sum += term;
        term *= (double)(n - k) / (k + 1);
        k++;
    }
    return k; // 0: no pair of ranks reaches the confidence
}

void kb_median_interval(const double *sorted, int count, double confidence, double *low, double *high)
{
    *low = *high = NAN;
    if (count < 1)
        return;
    // With fewer than 6 values not even smallest and largest enclose the median with 95%; they are given all the same,
    // and whoever draws a conclusion from an interval asks for the number of samples.
    int k = kb_median_rank(count, confidence);
    k = k < 1 ? 1 : k;
    *low = sorted[k - 1];
    *high = sorted[count - k];
}

static int usable(const double *samples, int count, double *out)
{
    int used = 0;
    for (int i = 0; i < count; i++)
        if (isfinite(samples[i]) && samples[i] >= 0)
            out[used++] = samples[i];
    return used;
}

// Spread as a standard deviation: from the median absolute deviation, or where more than half of the values are equal
// (a coarse clock) from the mean one.
double kb_robust_sigma(const double *sorted, int count, double median)
{
    double *deviations = kb_alloc((size_t)count * sizeof *deviations), sum = 0;
    for (int i = 0; i < count; i++) {
        deviations[i] = fabs(sorted[i] - median);
        sum += deviations[i];
    }
    kb_sort_samples(deviations, count);
    double sigma = MAD_TO_SIGMA * kb_median_sorted(deviations, count);
    free(deviations);
    return sigma > 0 ? sigma : MEAN_TO_SIGMA * sum / count;
}

static bool drifts(const double *in_order, int count)
{
    if (count < FEWEST_FOR_DRIFT)
        return false;
    int third = count / 3;
    double *part = kb_alloc((size_t)third * sizeof *part), low[2], high[2];
    for (int i = 0; i < 2; i++) {
        memcpy(part, in_order + (i ? count - third : 0), (size_t)third * sizeof *part);
        kb_sort_samples(part, third);
        kb_median_interval(part, third, CONFIDENCE, &low[i], &high[i]);
    }
    free(part);
    return high[0] < low[1] || high[1] < low[0];
}

void kb_summarize(const double *samples, int count, struct kb_summary *out)
{
    *out = (struct kb_summary){.median = NAN, .low = NAN, .high = NAN, .min = NAN, .max = NAN};
    if (count < 1)
        return;
    double *values = kb_alloc((size_t)count * sizeof *values);
    int n = out->samples = usable(samples, count, values);
    if (n) {
        out->drifting = drifts(values, n);
        kb_sort_samples(values, n);
        out->median = kb_median_sorted(values, n);
        out->min = values[0];
        out->max = values[n - 1];
        kb_median_interval(values, n, CONFIDENCE, &out->low, &out->high);
        double limit = out->median + OUTLIER_SIGMAS * kb_robust_sigma(values, n, out->median);
        for (int i = 0; i < n; i++)
            out->outliers += values[i] > limit;
    }
    free(values);
}

void kb_histogram_of(const double *samples, int count, struct kb_histogram *out)
{
    *out = (struct kb_histogram){.low = NAN, .high = NAN};
    double *values = kb_alloc((size_t)(count > 0 ? count : 1) * sizeof *values);
    int n = usable(samples, count, values);
    if (n) {
        kb_sort_samples(values, n);
        double median = kb_median_sorted(values, n), limit = median + 8 * kb_robust_sigma(values, n, median);
        out->low = values[0];
        // One outlier must not press all others into the first bin.
        out->high = values[n - 1] < limit ? values[n - 1] : limit;
        if (!(out->high > out->low))
            out->high = out->low > 0 ? out->low * 1.01 : 1;
        double width = (out->high - out->low) / KB_HISTOGRAM_BINS;
        for (int i = 0; i < n; i++) {
            double bin = (values[i] - out->low) / width;
            out->counts[bin < KB_HISTOGRAM_BINS - 1 ? (int)bin : KB_HISTOGRAM_BINS - 1]++;
        }
    }
    free(values);
}
