// One table: what people are shown of the hardware's counters, the metrics behind each, how it is computed from them,
// its unit, and the peak that it is compared with. Pure; measuring is in ranges.h.
#ifndef KB_PROFILES_COUNTERS_H
#define KB_PROFILES_COUNTERS_H
#include <stdbool.h>
#include <stddef.h>

enum kb_counter_stage {
    KB_COUNTER_BYTES,    // one pass: the roofline's point
    KB_COUNTER_HARDWARE, // some passes
    KB_COUNTER_CODE,     // "sass" metrics: CUPTI changes the code to count; passes of their own
    KB_COUNTER_STAGES
};
enum { KB_COUNTER_TERMS = 8 };
struct kb_counter {
    const char *name, *unit;
    enum kb_counter_stage stage;
    const char *peak; // the rate that value / time is compared with: a key of peaks{}, or NULL
    double best;      // the value itself compared: of a percentage 100, of threads an instruction 32; 0: nothing
    const char *about;
    struct {
        const char *metric;
        double weight;
    } terms[KB_COUNTER_TERMS]; // summed up
    const char *divisor;       // metric, or NULL
};
extern const struct kb_counter kb_counters[];
extern const int kb_counter_count;

// The distinct metrics of a stage, at most `most`. Returns their number.
int kb_counter_metrics(enum kb_counter_stage, const char **out, int most);

// values by place in metrics; NAN where unknown. NAN, with *reason set (static text, or why[] of the metric that is
// missing), where the counter cannot be told.
double kb_counter_value(const struct kb_counter *, const char *const *metrics, const double *values,
                        const char *const *why, int count, const char **reason);

#endif
