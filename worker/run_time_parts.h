// Shared by worker/run_time*.c: a `time` request at work.
#ifndef KB_WORKER_RUN_TIME_PARTS_H
#define KB_WORKER_RUN_TIME_PARTS_H
#include "profiles/timing.h"
#include "verify/disturb.h"
#include "verify/hold.h"
#include "worker/run.h"

struct run_target { // a version on one case
    struct run_worker *worker;
    const struct run_version *version;
    struct kb_program program; // loaded anew: fresh globals
    struct kb_hold hold;       // the module's memory as it was loaded
    struct kb_plan plan;
    struct kb_case_data *data;
    struct kb_disturb *disturb; // of the case; NULL: outputs and inputs stay as they are
    struct kb_set *sets[KB_MOST_SETS];
    int set_count;
    bool challenger;   // not the version that was asked for but one that it is compared with
    bool alternates;   // between the two sets of outputs
    int last_set, run; // of the last launch: the input set, and which outputs it wrote
    int launches;
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
    struct kb_disturb disturb; // of that case
    uint64_t looks;            // at its outputs so far
    bool failed, timed;
    bool of_reference; // what failed first was the reference
    char reason[512];
};

// A version on one case, loaded anew; the challenger writes other outputs. -1 with nothing to close.
int run_target_open(struct run_worker *, const struct run_version *, struct kb_case_data *, bool challenger,
                    struct run_target *, struct kb_error *);
void run_target_close(struct run_target *);
// For kb_timing_target and kb_timing_options: a run, and what comes before it. Inouts are put back as the set has
// them; where the target has a kb_disturb, module memory that was written as well, and outputs, scratch and inputs
// change.
int run_target_launch(void *target, int turn, struct kb_error *);
int run_target_prepare(void *target, int turn, enum kb_timing_before, struct kb_error *);
bool run_target_keeps(const struct run_target *); // memory of the module, as far as it is known, or scratch
int run_target_launch_again(struct run_target *, struct kb_error *); // on the set and outputs of the last turn
int run_target_restore_inouts(const struct run_target *, struct kb_error *);
bool run_has_inouts(const struct kb_bench *);

// run_time_check.c: whether timed launches were right. A look in the middle, for kb_timing_options.between (context:
// the job), and all that comes behind a timing of one case. What is wrong fails the job; -1 only for other failures.
int run_time_look(void *job, struct kb_error *);
int run_time_check(struct run_time_job *, struct run_target *, const struct kb_timing_result *, struct kb_error *);
enum { RUN_INSTRUCTIONS_A_US = 50 }; // on the CPU device a microsecond of a timing is so many of a warp
// The same on a device without a clock, which counts instructions instead: some launches of a timed case.
int run_time_count(struct run_time_job *, struct kb_case_data *, struct kb_error *);
void run_time_fail(struct run_time_job *, const struct kb_case_data *, const char *reason); // the first reason stays

// `timing` of each target, then `versus` of the first against each other one.
void run_time_tell(const struct run_time_job *, const struct run_target *targets, const struct kb_timing_result *,
                   int count);
// `timing` of a device without a clock: the work, counted by the device where it counts, else declared.
void run_time_tell_work(const struct run_time_job *, int case_index);
// The same kernels' code in the same launches: a comparison of the two measures the method and the machine.
bool run_same_code(const struct run_target *, const struct run_target *);

#endif
