// What the cases of `verify` and what it tries beyond them share. Nobody else includes this.
#ifndef KB_WORKER_RUN_VERIFY_PARTS_H
#define KB_WORKER_RUN_VERIFY_PARTS_H
#include "worker/run.h"

struct run_outcome {
    int passed, failed, unusable;
    int own;          // of the failed ones: by the version's own fault
    char reason[640]; // of the first failure, else of the first case that could not be used
    char remark[640]; // of the first case that passed with one
    bool quiet;       // only what fails is told
    uint64_t seed;    // a further one (docs/verify.md); 0: that of the session
    bool again;       // a version failed on it before
    double margin;    // share of its bound that the worst case uses; NAN: none has one
    int first_bad;    // case, where one failed
    uint64_t bad_set;
    int seeds, seeds_failed;
};
struct run_calls { // what came before the end of a trial
    const struct kb_set *set;
    int count; // of the kernel in a row
    bool same; // all on these inputs, else as verify/repeat.h has it
};
// What the version itself does wrong says more than a reference that has no result elsewhere.
void run_note_failure(struct run_outcome *, const char *label, bool label_it, bool of_reference, const char *reason);
// The CPU device does not run an instruction of this kernel: that is nobody's fault, and nothing is proven.
bool run_trial_refused(const struct run_worker *, const struct kb_trial *);
void run_send_case(const struct run_worker *, const struct kb_frame *, const char *version, const struct kb_case_data *,
                   const struct run_calls *, const struct kb_trial *);
void run_send_facts(const struct kb_frame *, const char *version, const struct kb_case_data *, struct kb_trial *);

void run_try_beyond(struct run_worker *, const struct kb_frame *, struct run_version *, struct run_outcome *);

#endif
