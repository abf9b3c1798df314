// PC sampling: where the warps of a kernel were, and why they waited, at every 2^period-th cycle of each
// multiprocessor. One set of hardware serves all processes: while it is held here, sampling and counters of every other
// process (and the range profiler of this one) are refused; see kb_pcs_release(). One device a process.
#ifndef KB_PROFILES_PCSAMPLING_H
#define KB_PROFILES_PCSAMPLING_H
#include "jit/device.h"

enum { KB_PCS_REASONS = 96, KB_PCS_PERIOD_MIN = 5, KB_PCS_PERIOD_MAX = 31 };

struct kb_pcs_reason {
    char name[64];   // short name of profiles/stalls.h
    uint32_t index;  // CUPTI's
    bool not_issued; // counts only what no warp of the scheduler could issue: a part of the one of the same name
};
struct kb_pc {        // an instruction with at least one sample
    char *function;   // symbol
    uint64_t offset;  // bytes from the start of the function
    uint32_t *counts; // by place in `reasons`
};
struct kb_pc_profile {
    struct kb_pc *pcs;
    int pc_count, pc_capacity;
    struct kb_pcs_reason reasons[KB_PCS_REASONS];
    int reason_count;
    // Whether not_issued counts are part of the plain ones (else they come on top); see kb_pc_samples().
    bool inclusive;
    int period;       // cycles between samples: 2^period
    uint64_t samples; // of user kernels, all PCs
    uint64_t dropped; // by the hardware; in the last try
    bool overflow;    // its buffer ran full in the last try
    int launches;     // runs that were sampled
    int tries;        // 1 + retries with longer periods
};
void kb_pc_profile_free(struct kb_pc_profile *);
// Samples of one PC: all of them, whatever the reason.
uint64_t kb_pc_samples(const struct kb_pc_profile *, const struct kb_pc *);
// Sorts the PCs by function and offset, joins records of the same one, decides `inclusive` and sums up `samples`.
// Called by kb_pcs_collect(); for tests and stored profiles.
void kb_pc_profile_sum(struct kb_pc_profile *);

struct kb_pcs_run {
    // Enqueues what comes before a run and is not part of it (inout arguments restored, caches flushed); may be NULL.
    int (*before)(void *context, struct kb_error *);
    int (*run)(void *context, struct kb_error *); // enqueues one run
    void *context;
    double time_us;                     // about how long a run takes; 0 or NAN unknown
    int budget_ms;                      // for all sampled runs together; 0: 20
    bool (*interrupted)(void *context); // may be NULL
};
// Takes the hardware (first: hundreds of milliseconds) if it is not held yet.
int kb_pcs_hold(struct kb_device *, struct kb_error *);
bool kb_pcs_held(void);
// Holds, and starts and stops once with nothing to sample: the first start takes hundreds of milliseconds too.
int kb_pcs_warm(struct kb_device *, struct kb_error *);
// Gives it back, so that others find it free (some 80 ms). Nothing if it is not held.
void kb_pcs_release(void);
// Holds, samples runs, and retries with a longer period (4 x) when samples were lost, at most 4 times. The period that
// worked is where the next one begins.
int kb_pcs_collect(struct kb_device *, const struct kb_pcs_run *, struct kb_pc_profile *, struct kb_error *);
// The period (exponent) and number of runs for kernels of this length: about 100,000 samples, 1 run at least.
void kb_pcs_plan(double time_us, double clock_mhz, int sm_count, int budget_ms, int least_period, int *period,
                 int *launches);

#endif
