// Order statistics shared by the summary (stats.c) and the comparisons (compare.c).
#ifndef KB_PROFILES_ORDER_H
#define KB_PROFILES_ORDER_H

void kb_sort_samples(double *samples, int count);         // ascending; no NAN among them
double kb_median_sorted(const double *sorted, int count); // NAN if count < 1
// The largest k such that ranks k and n+1-k enclose the median with this confidence; 0 if none does.
int kb_median_rank(int n, double confidence);
// Smallest and largest where no pair of ranks reaches the confidence; NAN if count < 1.
void kb_median_interval(const double *sorted, int count, double confidence, double *low, double *high);

#endif
