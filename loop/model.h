// What the screen and the reports know: a plain structure built from events alone (docs/protocol.md), live or replayed.
// Unknown numbers are NAN, with the reason beside them.
#ifndef KB_LOOP_MODEL_H
#define KB_LOOP_MODEL_H
#include "bench/rungs.h"
#include "event/event.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

struct kb_rung_state {
    enum kb_status status;
    double ms;
    char *reason;     // NULL if none
    int64_t since_ms; // session time when it began to run
    bool doubt;       // NA since it failed on a guessed bench: perhaps the guess is wrong
};
struct kb_model_case { // of one version: the last such event of each, or NULL
    struct kb_ev_case *run, *verify;
    struct kb_ev_timing *timing;
    struct kb_ev_versus *versus;
    struct kb_ev_facts *facts; // of several launches: added up
};
struct kb_model_version {
    int number; // 0 while not final
    char *key;
    enum kb_status status; // PASS, FAIL, RUNNING
    char *failed_rung;     // NULL if none
    char *fault_of;        // who is at fault for that: "reference", "bench", "worker"; NULL: the version itself
    struct kb_rung_state rungs[KB_RUNGS];
    struct kb_ev_scan *scan; // the last such event, or NULL; likewise:
    struct kb_ev_errors *errors;
    struct kb_ev_resources *resources;
    struct kb_ev_goal *goal;
    struct kb_ev_exported *exported; // where a failing case was written
    // What the CPU device saw that is wrong, or may be, each place once a rung. left_out: reports that found no room.
    struct kb_ev_finding *findings;
    int finding_count, finding_capacity;
    double findings_left_out;
    struct kb_ev_seed *seeds; // of the last `verify`, in order; none: only the session's seed
    int seed_count, seed_capacity;
    char **not_tried; // added inputs that `verify` could not try
    int not_tried_count;
    // Of the late rungs, or NULL. counters: the events of all stages in one, with what each knows.
    struct kb_ev_sections *sections;
    struct kb_ev_counters *counters;
    struct kb_ev_sass *sass;
    struct kb_ev_advice *advice;
    struct kb_ev_trace *trace;   // the last one, of any state; NULL: nobody asked
    struct kb_model_case *cases; // one a bench case
    bool known, superseded;
    bool forgotten;              // it is old: its documents are gone, its numbers stay
    bool judged;                 // a `verdict` was seen: its `done` says nothing new
    int64_t started_ms, done_ms; // session time; -1 if not yet
    double first_verdict_ms;     // from the save; NAN
    char *git, *source_hash;
    double cold_us, warm_us; // headline case; NAN if not (yet) timed, impossible or wrong
    bool impossible;
};
struct kb_model_variant {
    char *name, *kind, *source, *kernel;
    struct kb_ev_reported *reported; // of kind command: the last of each case
    int reported_count, reported_capacity;
    struct kb_model_version *versions; // oldest first; the last one may be unfinished
    int version_count, version_capacity;
    char *file_state, *file_reason; // "missing", "unreadable"; NULL if fine
};
struct kb_log_line {
    char *source, *variant, *text; // cleaned, one line
    int64_t t_ms;
};
enum {
    KB_LOG_MOST = 5000,     // lines kept
    KB_MODEL_DETAILED = 48, // newest versions of a variant that keep their documents; older ones keep numbers
};
struct kb_model {
    struct kb_ev_session *session;  // the last `session` or `bench` event; never NULL behind the first event
    char *bench_name, *bench_error; // error of a bench.json that was not accepted; NULL if fine
    int case_count, headline;
    struct kb_model_variant *variants;
    int variant_count;
    int focus; // index of the focused variant
    bool paused;
    char *disk_stuck;        // which path the disk hangs at; NULL: it answers
    struct kb_ev_weak *weak; // the last `weak` event under this contract, or NULL
    char *pin_variant;       // baseline; NULL: none
    int pin_version;
    struct kb_ev_device *device;
    struct kb_ev_roofs *roofs;
    struct kb_ev_watch *watch;
    struct kb_ev_permission *permission; // while it is asked for, else NULL
    struct kb_ev_libs *libs[KB_WORKER_ROLES];
    struct {
        char *state, *reason;
        int64_t pid;
    } workers[KB_WORKER_ROLES];
    struct kb_log_line *log; // ring: oldest first from log_start
    int log_start, log_count;
    int64_t log_dropped;                              // lines that fell out of the ring or were cut by a worker
    char *status_text, *status_level, *status_remedy; // last `status` event
    int64_t now_ms;                                   // time of the last event
    bool ended;
    unsigned changes; // counts up with each event
};
void kb_model_init(struct kb_model *);
void kb_model_free(struct kb_model *);
// Applies one event; unknown types and fields are ignored. Returns 0, or -1 if it is no event (no type).
int kb_model_apply(struct kb_model *, const cJSON *event);
void kb_model_take(struct kb_model *, struct kb_event *); // the same; what it keeps of the event it takes out of it

const struct kb_log_line *kb_model_log(const struct kb_model *, int index);       // 0 = oldest
int kb_model_variant_index(const struct kb_model *, const char *name);            // -1 if unknown
const struct kb_ev_bench *kb_model_bench(const struct kb_model *);                // never NULL
const struct kb_ev_bench_case *kb_model_case(const struct kb_model *, int index); // never NULL
const char *kb_model_case_name(const struct kb_model *, int index); // as the bench calls it, else its label
bool kb_model_device_is(const struct kb_model *, const char *kind);
// The version shown for a variant: the newest that is not superseded; NULL if none.
struct kb_model_version *kb_model_current(const struct kb_model *, int variant);
struct kb_model_version *kb_model_version(const struct kb_model *, int variant, int number); // NULL if unknown
// The newest version of the variant that passed every rung; NULL if none.
struct kb_model_version *kb_model_last_good(const struct kb_model *, int variant);
// The first one's resources; never NULL.
const struct kb_ev_kernel_resources *kb_model_kernel(const struct kb_model_version *);
// Over all kernels: the most ('>') or least ('<') of a measured field (KB_OF_KERNEL(registers)), or its sum ('+').
// NAN where one is unknown, with the reason.
double kb_over_kernels(const struct kb_ev_resources *, size_t field, char how, const char **reason);
#define KB_OF_KERNEL(field) offsetof(struct kb_ev_kernel_resources, field)
const struct kb_ev_timing *kb_model_timing(const struct kb_model *, const struct kb_model_version *, int); // or NULL
// What a variant that is a command said of its own time on a case: the `reported` event; NULL: nothing yet.
const struct kb_ev_reported *kb_model_reported(const struct kb_model *, int variant, int case_index);
const char *kb_model_reported_wait(const struct kb_model *); // why a variant that is a command has said nothing yet
// The worst output of a case (mismatches, then scaled error); never NULL.
const struct kb_ev_output *kb_model_worst_output(const struct kb_model_version *, int case_index);
// What `verify` said of a case, else `run`; NULL: neither did.
const struct kb_ev_case *kb_model_result(const struct kb_model_case *);
bool kb_case_failed(const struct kb_ev_case *); // false for NULL
// A metric of the worst output of each case, the largest: KB_WORST(m, v, max_abs); NAN: unknown.
double kb_model_worst(const struct kb_model *, const struct kb_model_version *, size_t metric);
#define KB_WORST(m, v, metric) kb_model_worst(m, v, offsetof(struct kb_ev_metrics, metric))
double kb_metric_at(const struct kb_ev_metrics *, size_t metric); // the offset of a number
// Which output that computes nothing the bench lets pass in this case; NULL with the reason: none, or not known.
const char *kb_model_weak(const struct kb_model *, int case_index, const char **reason);
// The first finding that fails the version at this rung; NULL: none.
const struct kb_ev_finding *kb_model_finding(const struct kb_model_version *, enum kb_rung);
// Why a version failed where it ran, as far as `races` found out behind it: what fails, else a warning; NULL: unknown.
const struct kb_ev_finding *kb_model_cause(const struct kb_model_version *);
// The point of a version under the roofs from hardware counters, its share that of the DRAM peak; flops declared
// (flops_source says so) where the counters know none. Holds nothing to free. False without counted DRAM bytes or a
// time.
bool kb_model_counted_roofline(const struct kb_model *, const struct kb_model_version *, struct kb_ev_roofline *out);
// Whether some argument has a type that tensor cores take: only then their roof matters.
bool kb_model_tensor_types(const struct kb_model *);
// The --once --json document (docs/once.schema.json); owned by the caller.
cJSON *kb_model_document(const struct kb_model *);

#endif
