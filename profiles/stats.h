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
// Paired by round: index i of both is the same round of an interleaved measurement. Ratio and 99% interval from the log
// ratios of the rounds (Hodges and Lehmann over means of blocks of rounds, docs/timing.md); rounds that are not finite
// and above 0 on both sides are left out; fewer than 8: UNSURE. FASTER or SLOWER: the interval excludes 1 and the ratio
// lies beyond `noise` (kb_noise_floor; 0 or NAN if unknown; at least 0.1% is taken). SAME: the whole interval lies
// within `same` (a share) of 1.
void kb_compare_paired(const double *a, const double *b, int count, double noise, double same,
                       struct kb_comparison *out);
// The noise floor of a machine from A/A controls, each given by |ratio - 1| of identical code: what 99% of such
// controls stay within. NAN for fewer than 5.
double kb_noise_floor(const double *spreads, int count);

enum { KB_HISTOGRAM_BINS = 24 };
struct kb_histogram {
    double low, high;
    int counts[KB_HISTOGRAM_BINS]; // the last bin takes everything above high
};
void kb_histogram_of(const double *samples, int count, struct kb_histogram *out);

#endif
