// Timing of kernels on a device: cold and warm, interleaved between versions, stopped by noise.
// Kernel time comes from CUPTI kernel records; where CUPTI is refused, from events, and the result says so.
#ifndef KB_PROFILES_TIMING_H
#define KB_PROFILES_TIMING_H
#include "jit/device.h"
#include "profiles/stats.h"

enum { KB_MAX_TARGETS = 4, KB_MAX_LAUNCHES = 16 };

struct kb_timing_target { // one version
    // Enqueues one whole run (all its launches) on input set `set` (0 .. sets-1); does not wait.
    int (*run)(void *context, int set, struct kb_error *);
    void *context;
    int launches; // kernels a run
};
struct kb_timing_options {
    int budget_ms;   // for all targets together; a result comes within about twice that whatever the noise
    int min_samples; // 0: 10, and with several targets until the interval of their paired ratio is narrow too
    double width;    // stop when each interval of the median is narrower than this share; 0: 0.005
    int sets;        // input sets to rotate, at least 1; two rounds (both orders of the targets) on each
    // May be NULL: puts back what a run of a target changes (inout arguments); gets the target's context. Enqueued
    // before the flush of each cold run and never counted into a time (by events at the price of shorter windows).
    int (*restore)(void *target_context, int set, struct kb_error *);
    bool warm, cold; // which to measure
    // Returns nonzero when a request is waiting that should end the measurement early ("cancelled").
    int (*interrupted)(void *context);
    // May be NULL: looks at what the runs so far have left, between two chunks of samples (some 10 ms), the device
    // being at rest: at times that no kernel can foresee. 0: go on, 1: end the measurement as if interrupted, -1: it
    // failed. Never behind the last chunk; left out where it would take more than a tenth of the time.
    int (*between)(void *context, struct kb_error *);
    void *context; // of the two
};
struct kb_timing_result {
    bool has_cold, has_warm;
    struct kb_summary cold, warm;      // us, one run: first start to last end
    double launch_us[KB_MAX_LAUNCHES]; // median by launch, cold (warm if there is no cold)
    double call_us;                    // launch to finish seen from the host, warm, median
    double events_us;                  // the same runs by events, for cross-checking; NAN if unknown or not warm
    bool events_disagree;              // by more than the gaps between launches explain; one of the two is wrong
    char source[16];                   // "cupti" or "events"
    char source_reason[200];           // why not CUPTI; "" if CUPTI
    int batch; // runs behind one sample; more than 1 for runs shorter than the resolution allows
    // SM clock while the samples were taken, read once a chunk (10 ms): median and lowest; NAN if unknown.
    double clock_mhz, clock_low_mhz;
    int throttled;       // samples at clocks more than 2% under the median clock
    bool throttled_kept; // they were kept, as too few others came within the budget; else they were left out (NAN)
    int lost_records;    // kernel records that never came or had impossible times
    // us, in time order, one a round, for pairing: index i of every target is the same round. NAN where a record was
    // lost or a sample was left out.
    double *cold_samples; // owned by the result
    int cold_count;
    double *warm_samples;
    int warm_count;
};
void kb_timing_result_free(struct kb_timing_result *);

// Opens CUPTI and NVML, and allocates the flush buffer ahead of the first timing, so that this does not pay for it
// (some 20 ms).
void kb_timing_prepare(struct kb_device *);

// Targets are interleaved sample by sample, the order mirrored every round (A B B A), on the same input sets.
// An interrupted measurement returns 0 with what it has so far; has_cold and has_warm say what that is. Fails on a
// device without a clock (the CPU), and when a run or the device fails; results need no freeing then.
int kb_timing_run(struct kb_device *, const struct kb_timing_target *targets, int count,
                  const struct kb_timing_options *, struct kb_timing_result *results, struct kb_error *);

#endif
