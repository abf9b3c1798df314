// One window of a timing: what is measured as a unit, by kernel records or by events. Private to profiles/timing*.c.
#ifndef KB_PROFILES_TIMING_WINDOW_H
#define KB_PROFILES_TIMING_WINDOW_H
#include "profiles/timing.h"

struct kb_timing_window {
    int target, set, batch;
    enum kb_timing_before before; // of the last run; those before it are RUN, unless it is OTHER or SAME
    bool cold; // each of the batch's runs behind a flush; else one unmeasured run first, then all of them back to back
    double us; // a run; NAN if its records were lost
    int lost;  // launches without a usable record
    int parts; // launches a run; 0 if their times are unknown
    double part_us[KB_MAX_LAUNCHES]; // mean of the batch by launch
};
struct kb_timing_source {
    struct kb_device *device;
    const struct kb_timing_target *targets;
    int (*prepare)(void *target_context, int set, enum kb_timing_before, struct kb_error *); // kb_timing_options
    bool cupti; // by kernel records; becomes false when CUPTI fails, for the reason in failure
    struct kb_error failure;
    double clock_mhz; // SM clock while the last windows ran, NAN if unknown
};
// Runs all windows in order, waits, and fills us, lost and parts. Where CUPTI fails, all are run again by events.
int kb_timing_measure(struct kb_timing_source *, struct kb_timing_window *, int count, struct kb_error *);

// Pairs of cold runs of the first target, on other inputs and on the same again: the fastest of the one kind, the
// slowest of the other, us; NAN where a record was lost.
int kb_timing_again(struct kb_timing_source *, int pairs, double *same_us, double *other_us, struct kb_error *);

#endif
