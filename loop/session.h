// The session: bench, sources, workers, history and their order, as a state machine without a screen. Never blocks:
// disks belong to the io thread, compilers and devices to workers.
#ifndef KB_LOOP_SESSION_H
#define KB_LOOP_SESSION_H
#include "base/error.h"
#include "bench/bench.h"
#include "bench/guess.h"
#include "event/event.h"

#include <cjson/cJSON.h>
#include <poll.h>
#include <stdbool.h>

struct kb_session_options {
    const char *bench_path; // folder, bench.json or .cu
    const char *device;     // "auto", "cpu", "cuda[:N]"
    const char *variant;    // focus; NULL: the first
    const char *kernel;     // of a source that no bench lists: "k", "k<float, 4>"; NULL: see choices
    // Where such a source holds several kernels and none was named, kb_session_new fails and these are they; to be
    // freed by the caller. NULL: it takes the one that it understands best.
    struct kb_guess_choices *choices;
    const char *baseline;            // variant to pin; NULL: none
    const char *arch, *like, *check; // NULL: by the device
    uint64_t seed;                   // 0: from the clock, printed
    const char *const *include_dirs;
    int include_dir_count;
    const char *const *defines; // "X=Y"; for all variants; they win over //kb: lines
    int define_count;
    bool once; // every variant once, then end
    bool no_history;
    bool no_profile;       // stop behind the verdict: no rungs sections, counters and sass
    int seeds;             // each version is verified with so many; 0 and 1: the one above
    bool require_proof;    // kb_session_exit_code: what is not proven fails
    const char *trace;     // once: only this variant, and then a trace of it
    const int *trace_case; // its case, read when it is asked for; NULL or -1: the headline
    const char *worker;    // path of kbench-worker; NULL: $KB_WORKER, else beside the program
    // Receives every event in order, also those made inside kb_session_new. The event belongs to the session.
    // body NULL: of no type that event/ knows.
    void (*on_event)(void *context, const struct kb_event *, const cJSON *as_json);
    void *context;
};
struct kb_session;
int kb_session_new(const struct kb_session_options *, struct kb_session **, struct kb_error *);
void kb_session_free(struct kb_session *); // ends workers (term, kill), writes what is pending

int kb_session_fds(struct kb_session *, struct pollfd *fds, int capacity); // returns how many it wants watched
int kb_session_wait_ms(const struct kb_session *);                         // until it wants a step anyway; -1: never
void kb_session_step(struct kb_session *);                                 // does what is ready; never blocks
bool kb_session_ended(const struct kb_session *);                          // once: everything was done
int kb_session_exit_code(const struct kb_session *);                       // 0, 1, 3 or 4 (README.md)

enum kb_command {
    KB_COMMAND_FOCUS,   // arg: variant
    KB_COMMAND_RERUN,   // arg: variant, or NULL: the focused one; all rungs again from run, new inputs
    KB_COMMAND_PAUSE,   // toggles: while paused saves are noted, nothing is built
    KB_COMMAND_PIN,     // arg: "variant" (its newest good version), "variant@n", or NULL: unpins
    KB_COMMAND_CANCEL,  // ends what is in flight
    KB_COMMAND_RESTART, // replaces all workers
    KB_COMMAND_TRACE,   // arg: "variant", "variant@n", "variant@n#case": compiles and runs it so that sections record
    KB_COMMAND_RETRY,   // asks again for sections, counters and sass where they were refused
    KB_COMMAND_ALLOW,   // kb_session_allow
    KB_COMMAND_EXPORT,  // arg: "variant@case", the case's index: kb_session_export without a file
};
void kb_session_command(struct kb_session *, enum kb_command, const char *arg);
// Writes the guessed bench of a source that no bench lists, and a reference to complete (kb_guess_keep). The session
// goes on as it is: a new one over the same source opens what was written. Fails where nothing was guessed.
int kb_session_keep(const struct kb_session *, struct kb_guess_kept *out, struct kb_error *);
const struct kb_model *kb_session_model(const struct kb_session *); // built from its events; goes with it
// Where errors.txt and the sources lie, for opening an editor; absolute, owned by the session.
const char *kb_session_bench_dir(const struct kb_session *);

// What the last event `permission` {needed: true} asked for may run: the reference's command, as it was then.
void kb_session_allow(struct kb_session *);

// Writes a case that the newest version of a variant failed as a .cu with a main() (docs/verify.md). case_index -1: the
// first that failed. file: NULL is a new one under .kbench/failing; one that is there is never overwritten. The answer
// is the event `exported`, once, also where nothing can be written.
void kb_session_export(struct kb_session *, const char *variant, int case_index, const char *file);

// Listings and comparisons of any versions, also of earlier sessions. What is not in memory comes from the history or
// is made by a worker; then an event says that it is there. Neither these events nor `diff` are written to the session
// file.
enum kb_listing {
    KB_LISTING_SOURCE,
    KB_LISTING_PTX,
    KB_LISTING_SASS,    // of nvdisasm, with source lines and live registers
    KB_LISTING_SAMPLES, // the blob of `sections` (docs/protocol.md): JSON, samples by instruction
};
const char *kb_listing_name(enum kb_listing); // "source", "ptx", "sass", "samples"
// The text, valid until the next step, or NULL: then (unless it is asked for already) it is fetched, and the event
// `listing` {variant, version, kind, ready, reason} follows; ready true: call again.
const char *kb_session_listing(struct kb_session *, const char *variant, int version, enum kb_listing);
struct kb_diff_request {
    const char *a_variant, *b_variant;
    int a_version, b_version;
    enum kb_listing kind; // not SAMPLES
    bool raw;             // sass: every instruction written differently, not only real changes
};
// Starts a comparison and returns its id (> 0). The answer is the event `diff` {id, a:{variant, version}, b:{...},
// kind, raw, ready, reason}.
int kb_session_diff(struct kb_session *, const struct kb_diff_request *);
// The document of the request `diff` (docs/protocol.md) as text, once it is ready; owned by the caller. NULL: not this
// one, taken already, or dropped behind 16 others.
char *kb_session_take_diff(struct kb_session *, int id, size_t *size);

// The spans of a version that was traced in this session (profiles/trace.h), valid until the next step; NULL if it was
// not, or others came after it. The event `trace` says that they are there.
struct kb_trace;
const struct kb_trace *kb_session_trace(const struct kb_session *, const char *variant, int version);

#endif
