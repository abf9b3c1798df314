// Hardware counters of one run of kernels, by CUPTI's range profiler with user replay: the run is repeated once a pass.
// Needs the hardware that PC sampling holds (kb_pcs_release() first). One device a process.
#ifndef KB_PROFILES_RANGES_H
#define KB_PROFILES_RANGES_H
#include "jit/device.h"

struct kb_range_run {
    // Enqueues what comes before each pass and is not counted: arguments as they were at first, caches as they shall
    // be. May be NULL.
    int (*before)(void *context, struct kb_error *);
    int (*run)(void *context, struct kb_error *); // enqueues one run
    void *context;
};
enum { KB_RANGE_METRICS = 64 };
struct kb_range_values {               // by place in the metrics asked for
    double value[KB_RANGE_METRICS];    // NAN unknown
    const char *why[KB_RANGE_METRICS]; // of an unknown one: static text
    int passes;
};
// Measures what the chip has of these metrics; those that it lacks are NAN with the reason and break nothing. -1: the
// profiler was refused, or a run failed. At most KB_RANGE_METRICS metrics.
int kb_ranges_measure(struct kb_device *, const char *const *metrics, int count, const struct kb_range_run *,
                      struct kb_range_values *, struct kb_error *);
// Passes that these metrics take on a chip ("GH100"), without a GPU; unavailable ones are left out, *available says how
// many are there. -1: no CUPTI, or it does not know the chip.
int kb_ranges_passes(const char *chip, const char *const *metrics, int count, int *available, struct kb_error *);

#endif
