// Shared by worker/run_time*.c: a `time` request at work.
#ifndef KB_WORKER_RUN_TIME_PARTS_H
#define KB_WORKER_RUN_TIME_PARTS_H
#include "profiles/timing.h"
#include "worker/run.h"

struct run_target { // a version on one case
    struct run_worker *worker;
    const struct run_version *version;
    struct kb_program program; // loaded anew: fresh globals
    struct kb_plan plan;
    struct kb_case_data *data;
    struct kb_set *sets[KB_MOST_SETS];
    int set_count;
    bool challenger;   // not the version that was asked for but one that it is compared with
    bool alternates;   // between the two sets of outputs
    int last_set, run; // of the last launch: the input set, and which outputs it wrote
    uint64_t *addresses;
};
struct run_time_job {
    struct run_worker *w;
    const struct kb_frame *f;
    bool settled;
    int budget_ms, cases;
    struct run_version *version, *against[KB_MAX_TARGETS - 1];
    int against_count, others; // others: kb_gpu_others, -1 unknown
    struct run_target *first;  // the version itself, on the case that is being timed
    uint64_t looks;            // at its outputs so far
    bool failed, timed;
    char reason[512];
};

// A version on one case, loaded anew; the challenger writes other outputs. -1 with nothing to close.
int run_target_open(struct run_worker *, const struct run_version *, struct kb_case_data *, bool challenger,
                    struct run_target *, struct kb_error *);
void run_target_close(struct run_target *);
int run_target_launch(void *target, int turn, struct kb_error *);  // for kb_timing_target
int run_target_restore(void *target, int turn, struct kb_error *); // inouts as the set has them
bool run_has_inouts(const struct kb_bench *);

// `timing` of each target, then `versus` of the first against each other one.
void run_time_tell(const struct run_time_job *, const struct run_target *targets, const struct kb_timing_result *,
                   int count);
// `timing` of a device without a clock: the work, counted by the device where it counts, else declared.
void run_time_tell_work(const struct run_time_job *, int case_index);
// The same kernels' code in the same launches: a comparison of the two measures the method and the machine.
bool run_same_code(const struct run_target *, const struct run_target *);

#endif
