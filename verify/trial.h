// One case of one version: two runs on poisoned outputs, and everything that can be told from them.
#ifndef KB_VERIFY_TRIAL_H
#define KB_VERIFY_TRIAL_H
#include "bench/rungs.h"
#include "verify/data.h"
#include "verify/metrics.h"

struct kb_trial_output { // of one argument that the kernel writes
    int arg;
    bool pass;
    char reason[320];
    struct kb_inspection inspection;
    uint64_t guard_bytes; // changed, over both runs
    int64_t guard_first;
    bool compared; // what follows is only then valid
    struct kb_bound bound;
    bool conditioned; // with the condition of the set (verify/probe.h)
    struct kbe_part part;
    struct kb_metrics metrics;
    bool has_bad;
    uint64_t bad_index;
    char got[40], want[40];
    struct kbe_map map; // cell_rows 0: none
    uint64_t cells[KBE_MAP_ROWS * KBE_MAP_COLUMNS];
    char where[144]; // the wrong elements, in words; "" where they are in no order (verify/pattern.h)
};
// RUN: guards, everything written, inputs kept, no non-finite element where the reference is a number. VERIFY: that,
// and the size of the error. STALE: as VERIFY, but outputs and scratch are as the calls before left them instead of
// poisoned, and nothing is said of what was not written: a kernel that leaves an old result shows by its value. WATCH:
// one run, judged by what the device itself saw, whatever came out.
enum kb_trial_depth { KB_TRIAL_RUN, KB_TRIAL_VERIFY, KB_TRIAL_STALE, KB_TRIAL_WATCH };

struct kb_trial {
    enum kb_trial_depth depth; // RUN, VERIFY or WATCH
    bool stale, pass;
    char reason[512];   // of the first thing that is wrong, else a remark or ""
    bool fresh;         // the set was seen by nobody before
    bool notable;       // passed with a remark that people should see: it differs, or proves nothing
    const char *inputs; // what they are if they are not the bench's own: "large values"; else NULL. Static text
    bool differs;       // the two runs differ bitwise in an output
    bool device_failed; // a launch or the device failed: reason says which kernel and how
    struct kb_trial_output *outputs;
    int output_count;
    cJSON *facts; // array, one item a launch of the second run, where the device counts; else NULL
    // What the device saw besides (bench/rungs.h, kb_finding_kind): [{kind, fails, kernel, text, file, line, count,
    // accepted}], each place once; NULL: nothing. findings_cut: reports that found no room, here or in the device.
    cJSON *findings;
    double findings_cut;
};

// Without a reference in the set, what needs none.
// -1 only where the trial could not be made at all (memory, the device before the kernel was launched).
int kb_trial_run(struct kb_data *, struct kb_case_data *, struct kb_set *, const struct kb_program *,
                 const struct kb_plan *, const struct kb_variant *, enum kb_trial_depth, struct kb_trial *,
                 struct kb_error *);
// One call on poisoned outputs of work[run], and its result as below.
int kb_trial_single(struct kb_data *, struct kb_case_data *, struct kb_set *, int run, const struct kb_program *,
                    const struct kb_plan *, const struct kb_variant *, struct kb_trial *, struct kb_error *);
// What work[run] holds against the reference of the set, guards too (after timed launches).
int kb_trial_compare(struct kb_data *, struct kb_case_data *, struct kb_set *, int run, struct kb_trial *,
                     struct kb_error *);
void kb_trial_free(struct kb_trial *);

// The fields of a `case` event that come from here; owned by the caller.
cJSON *kb_trial_json(const struct kb_data *, const struct kb_case_data *, const struct kb_trial *);

#endif
