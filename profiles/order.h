// Order statistics shared by the summary (stats.c), the comparisons (compare.c) and traces.
#ifndef KB_PROFILES_ORDER_H
#define KB_PROFILES_ORDER_H

void kb_sort_samples(double *samples, int count);         // ascending; no NAN among them
double kb_median_sorted(const double *sorted, int count); // NAN if count < 1
// The largest k such that ranks k and n+1-k enclose the median with this confidence; 0 if none does.
int kb_median_rank(int n, double confidence);
// Smallest and largest where no pair of ranks reaches the confidence; NAN if count < 1.
void kb_median_interval(const double *sorted, int count, double confidence, double *low, double *high);
// Spread as a standard deviation, little moved by outliers. 0 only if all are equal.
double kb_robust_sigma(const double *sorted, int count, double median);
// The largest k such that ranks k and N+1-k of the N = n(n+1)/2 pairwise means of n values (at most 64) enclose the
// centre of a symmetric distribution but for a probability of tail on each side; 0 if none does.
int kb_signed_rank(int n, double tail);

#endif
