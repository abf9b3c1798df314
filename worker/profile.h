// The profile worker's own: a run worker's state (its data, its versions) and the hardware that it holds at times.
#ifndef KB_WORKER_PROFILE_H
#define KB_WORKER_PROFILE_H
#include "jit/compile.h"
#include "profiles/counters.h"
#include "profiles/ranges.h"
#include "profiles/sections.h"
#include "worker/run.h"

struct profile_worker {
    struct run_worker run;
    bool refused[2]; // sampling, counters: for good, until a request says `retry`
    struct kb_error refusal[2];
};
struct profile_target { // a version on the headline case, loaded anew: fresh globals
    struct profile_worker *worker;
    const struct kb_frame *request;
    const struct run_version *version;
    struct kb_case_data *data;
    const struct kb_set *set;
    struct kb_program program;
    struct kb_plan plan;
    uint64_t *addresses;
};

void profile_sections(struct profile_worker *, const struct kb_frame *);
void profile_counters(struct profile_worker *, const struct kb_frame *);

// Answers `na` where profiling was refused for good and the request does not ask to retry. True if it did.
bool profile_is_refused(struct profile_worker *, const struct kb_frame *, const char *rung);
// Answers what came of a refusal or a failed run: `na` with reason and remedy, or `fail` where the device is lost.
void profile_refuse(struct profile_worker *, const struct kb_frame *, const char *rung, const struct kb_error *);
// `rung`, then `done` with `held`.
void profile_end(struct profile_worker *, const struct kb_frame *, const char *rung, const char *status,
                 const char *reason, const char *remedy);

// The version of the request on the headline case; answers and returns NULL if there is none.
struct run_version *profile_version(struct profile_worker *, const struct kb_frame *, const char *rung);
int profile_open(struct profile_worker *, const struct kb_frame *, const struct run_version *, struct profile_target *,
                 struct kb_error *);
void profile_close(struct profile_target *);
// Before each run: inouts as the set has them, and the cold L2 of the cold time, so that bytes and time belong
// together. The lines that the flush wrote are written back while the kernel runs, in place of as many of its own.
int profile_before(void *target, struct kb_error *);
int profile_launch(void *target, struct kb_error *);

// The `sections` frame, its blob (JSON, all PCs by kernel) in *blob, owned by the caller.
cJSON *profile_sections_json(const struct kb_frame *, const struct profile_target *, const struct kb_pc_profile *,
                             const struct kb_sections *, double time_us, char **blob);

#endif
