// The ladder: one table for order, worker and deadline of every rung. A new rung is one row here and its code in the
// worker named there.
#ifndef KB_BENCH_RUNGS_H
#define KB_BENCH_RUNGS_H
#include <stdbool.h>

enum kb_rung {
    KB_RUNG_SCAN,
    KB_RUNG_COMPILE,
    KB_RUNG_CHECK,
    KB_RUNG_RUN,
    KB_RUNG_VERIFY,
    KB_RUNG_TIME,
    KB_RUNG_RACES,
    KB_RUNG_SECTIONS,
    KB_RUNG_COUNTERS,
    KB_RUNG_SASS,
    KB_RUNGS,
    // From LATE on rungs come after the verdict (`done`) and hold nothing back. Those before DECIDING say whether a
    // version is right: the late rung `races` takes a verdict back; those behind it never fail a version.
    KB_RUNG_LATE = KB_RUNG_RACES,
    KB_RUNGS_DECIDING = KB_RUNG_SECTIONS,
};
// NONE: not reached yet; NA: does not apply here, with a reason; SKIP: one it needs failed.
enum kb_status {
    KB_STATUS_NONE,
    KB_STATUS_RUNNING,
    KB_STATUS_PASS,
    KB_STATUS_FAIL,
    KB_STATUS_SKIP,
    KB_STATUS_NA,
    KB_STATUSES
};
// RACES: a second run worker, always on the CPU device.
enum kb_worker_role { KB_WORKER_COMPILE, KB_WORKER_RUN, KB_WORKER_PROFILE, KB_WORKER_RACES, KB_WORKER_ROLES };

// How long the timing of a fresh version may take before its first verdict; the settled one follows.
enum { KB_FIRST_BUDGET_MS = 20 };

struct kb_rung_info {
    const char *name;
    enum kb_worker_role worker;
    int deadline_ms;   // without news from the worker for so long, it is killed and the rung fails
    const char *about; // one line for the help screen
};
extern const struct kb_rung_info kb_rungs[KB_RUNGS];
int kb_rung_parse(const char *name);          // -1 if unknown
const char *kb_status_name(enum kb_status s); // "", "running", "pass", "fail", "skip", "na"
int kb_status_parse(const char *name);        // -1 if unknown
const char *kb_worker_role_name(enum kb_worker_role r);

// What the CPU device reports about a launch besides its result (jit/ptx/facts.h), and what it means for a version.
struct kb_finding_kind {
    const char *name, *word; // word: for the verdict's badge
    bool fails;              // a version with one is wrong, whatever came out; else it is a remark
};
enum { KB_FINDING_KINDS = 15 };
extern const struct kb_finding_kind kb_finding_kinds[KB_FINDING_KINDS];
// NULL: none of them, but a fault that ended the launch.
const struct kb_finding_kind *kb_finding_kind(const char *name);

#endif
