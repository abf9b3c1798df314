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
    bool (*interrupted)(void *context); // asked between steps and passes; may be NULL
};
enum kb_range_step {
    KB_RANGE_CHIP,    // its name and which counters can be had here; once a process
    KB_RANGE_CONFIG,  // what is counted in which pass; once a process and list of metrics
    KB_RANGE_ENABLE,  // the profiler takes the context (and the hardware)
    KB_RANGE_DATA,    // the image that the counts go to
    KB_RANGE_SET,     // the configuration set
    KB_RANGE_START,   // the hardware set up for each pass; the first takes longest
    KB_RANGE_PASSES,  // the runs themselves
    KB_RANGE_DECODE,  // counts out of the hardware
    KB_RANGE_VALUES,  // metrics out of the counts
    KB_RANGE_DISABLE, // the profiler lets go
    KB_RANGE_STEPS
};
extern const char *const kb_range_steps[KB_RANGE_STEPS]; // their names
enum { KB_RANGE_METRICS = 64 };
struct kb_range_values {               // by place in the metrics asked for
    double value[KB_RANGE_METRICS];    // NAN unknown
    const char *why[KB_RANGE_METRICS]; // of an unknown one: static text
    int passes;
    double step_ms[KB_RANGE_STEPS]; // where the time went
};
// Measures what the chip has of these metrics; those that it lacks are NAN with the reason and break nothing. -1: the
// profiler was refused, or a run failed; 1: interrupted, nothing is known. At most KB_RANGE_METRICS metrics, whose
// texts are static: what was made of them on the host's side (the configuration) serves the next measurement again,
// until one fails. The hardware itself is free again behind each.
int kb_ranges_measure(struct kb_device *, const char *const *metrics, int count, const struct kb_range_run *,
                      struct kb_range_values *, struct kb_error *);
void kb_ranges_forget(void); // what is kept
// Passes that these metrics take on a chip ("GH100"), without a GPU; unavailable ones are left out, *available says how
// many are there. -1: no CUPTI, or it does not know the chip.
int kb_ranges_passes(const char *chip, const char *const *metrics, int count, int *available, struct kb_error *);

#endif
