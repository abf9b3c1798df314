// Timing of kernels on a device: cold and warm, interleaved between versions, stopped by noise.
// Kernel time comes from CUPTI kernel records; where CUPTI is refused, from events, and the result says so.
#ifndef KB_PROFILES_TIMING_H
#define KB_PROFILES_TIMING_H
#include "jit/device.h"
#include "profiles/stats.h"

enum { KB_MAX_TARGETS = 4, KB_MAX_LAUNCHES = 16 };

// What a run is to find. RUN: nothing that an earlier one could use. LOOK: the same, on inputs as the set has them: the
// last run before somebody looks at what it leaves. OTHER: other inputs than before, but what the kernels keep by
// themselves stays. SAME: everything as the run before left it, the inputs as they were for that one.
enum kb_timing_before { KB_BEFORE_RUN, KB_BEFORE_LOOK, KB_BEFORE_OTHER, KB_BEFORE_SAME };

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
    // May be NULL: makes the memory ready for a run of a target; gets the target's context. Enqueued before the flush
    // of each cold run, between the unmeasured run and each warm one, and never counted into a time (by events at the
    // price of windows of one run).
    int (*prepare)(void *target_context, int set, enum kb_timing_before, struct kb_error *);
    bool restores;   // prepare puts back what a run changes in its inputs: the cross-check by events needs it, too
    bool again;      // whether the same inputs a second time go faster than others: same_us and other_us
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
    // cold, the first target only; NAN where nobody asked, or it would have taken too long. A kernel that is faster on
    // the inputs of the run before, everything else being as that left it, keeps results: slowest of these, fastest of
    // as many on other inputs.
    double same_us, other_us;
    bool events_disagree;    // by more than the gaps between launches explain; one of the two is wrong
    char source[16];         // "cupti" or "events"
    char source_reason[200]; // why not CUPTI; "" if CUPTI
    int batch;               // runs behind one sample; more than 1 for runs shorter than the resolution allows
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
// The same inputs again take less than 0.7 of what others take: a factor that neither noise nor clocks make when it
// holds for the slowest of the one kind and the fastest of the other. false where one is NAN.
bool kb_timing_remembers(double same_us, double other_us);

// Opens CUPTI and NVML, and allocates the flush buffer ahead of the first timing, so that this does not pay for it
// (some 20 ms).
void kb_timing_prepare(struct kb_device *);

// Targets are interleaved sample by sample, the order mirrored every round (A B B A), on the same input sets.
// An interrupted measurement returns 0 with what it has so far; has_cold and has_warm say what that is. Fails on a
// device without a clock (the CPU), and when a run or the device fails; results need no freeing then.
int kb_timing_run(struct kb_device *, const struct kb_timing_target *targets, int count,
                  const struct kb_timing_options *, struct kb_timing_result *results, struct kb_error *);

#endif
