// Statistics of timing samples: a pure library. Nothing here asks a clock or a device.
#ifndef KB_PROFILES_STATS_H
#define KB_PROFILES_STATS_H
#include <stdbool.h>

struct kb_summary {
    int samples;
    double median, low, high; // 95% interval of the median by order statistics (binomial); NAN if samples < 1
    double min, max;
    int outliers;  // above median + 5 x MAD-sigma; counted, never dropped
    bool drifting; // first and last third disagree beyond their intervals
};
// Samples that are not finite or below 0 are ignored; samples says how many counted. All equal, 1 or 0 samples work.
void kb_summarize(const double *samples, int count, struct kb_summary *out);

enum kb_verdict { KB_VERDICT_UNSURE, KB_VERDICT_SAME, KB_VERDICT_FASTER, KB_VERDICT_SLOWER };
const char *kb_verdict_name(enum kb_verdict);
struct kb_comparison {
    enum kb_verdict verdict;
    double ratio, low, high; // time of a over time of b
    bool paired;
};
// Unpaired: UNSURE unless the intervals are disjoint; SAME if both lie within `same` (a share, e.g. 0.003) of each
// other and are that narrow.
void kb_compare(const struct kb_summary *a, const struct kb_summary *b, double same, struct kb_comparison *out);
// Fewer than 6 samples on either side: UNSURE.
// Paired by round: 99% interval of the median of the log ratios (rounds that are not finite and above 0 on both sides
// are left out; fewer than 8: UNSURE); FASTER or SLOWER only where the whole interval lies beyond `noise` (the measured
// spread of identical code, a share; 0 if unknown).
void kb_compare_paired(const double *a, const double *b, int count, double noise, double same,
                       struct kb_comparison *out);

enum { KB_HISTOGRAM_BINS = 24 };
struct kb_histogram {
    double low, high;
    int counts[KB_HISTOGRAM_BINS]; // the last bin takes everything above high
};
void kb_histogram_of(const double *samples, int count, struct kb_histogram *out);

#endif
