// The inside of the session, shared by its files. Nobody else includes this.
#ifndef KB_LOOP_PARTS_H
#define KB_LOOP_PARTS_H
#include "base/clock.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/sealed.h"
#include "bench/bench.h"
#include "bench/guess.h"
#include "bench/rungs.h"
#include "loop/gpu_lock.h"
#include "loop/lane.h"
#include "loop/model.h"
#include "loop/peer.h"
#include "loop/project.h"
#include "loop/schedule.h"
#include "loop/session.h"
#include "profiles/trace.h"
#include "watch/watch.h"

struct kb_io;

// One reading of a source, shared by the builds made from it.
struct kb_shared {
    int refs;
    struct kb_snapshot snapshot;
};

struct kb_reach_words { // owned texts of a struct kb_reach: include folders, options, macros
    char **list;
    int count, capacity, dirs, options, defines;
};

// One watched file: a variant's source, the reference's, bench.json, or data (.npy). Variants that reach headers in
// different ways watch a source of their own.
struct kb_session_file {
    char *path; // absolute
    bool plain;
    struct kb_reach_words reach;
    int watch;                // index in the io thread
    struct kb_shared *latest; // NULL: not read yet, or missing
    bool settled;             // no event for the quiet time since `latest`
    bool missing;
    bool opaque_told;
    bool wanted; // by the bench as it is now
    bool data;   // .npy: part of the contract
    bool read;   // by the reference's command: likewise, by kb_reads
    bool script; // of a variant that is a command
};

struct kb_blobs {
    char *ptx, *cubin, *sass; // sass: the listing, NULL until it was made
    size_t ptx_size, cubin_size, sass_size;
};

enum kb_build_stage {
    KB_STAGE_ASK,     // options of its compile have to be allowed (kb_options_answered)
    KB_STAGE_LOOKUP,  // the history is asked whether this content was built before
    KB_STAGE_COMPILE, // waits for a compile worker, or is in one
    KB_STAGE_LADDER,  // `next` waits for the run worker, or is in it
    KB_STAGE_DONE,    // its first verdict is known
};
struct kb_build {
    int refs;    // the variant's list, the compile lane, the run lane, io requests in flight
    int variant; // index of its slot, -1: its variant left the bench. To be followed by kb_slot_of only
    char *name;  // of its variant
    char key[33];
    char contract[33]; // under which its results were made
    struct kb_shared *source;
    struct kb_variant *resolved; // NULL: its //kb: lines are wrong
    struct kb_error resolve_error;
    enum kb_build_stage stage;
    enum kb_rung next;
    enum kb_status rungs[KB_RUNGS];
    char *failed_rung_reason;
    cJSON *not_tried;      // of the last `verify`: inputs that could not be tried; NULL: none
    const char *fault_of;  // who made its rung fail (kb_fault_word); NULL: the version itself
    struct kb_blobs blobs; // kept while it may be compared with or run again
    cJSON *compiled;       // head of the `compiled` frame
    cJSON *errors;
    bool options_allowed, options_refused; // those that ask
    bool settled_timing;                   // the second, paired timing is due
    bool dead;                             // superseded or cancelled: its frames are dropped
    bool finished;                         // the `verdict` event was sent
    bool done;                             // so was `done`: nothing more is to come
    bool claiming, final, known;
    bool set_up_refused;              // `check` refused how it is launched, not what it is
    bool doubted;                     // a rung failed, perhaps since its bench is guessed: there is no verdict
    bool stored;                      // its binaries are in the history
    bool sass_stored, samples_stored; // likewise
    bool counted_bytes;               // the first stage of its counters is there
    struct kb_keyed seal;             // of its binaries; "": none
    char *samples;                    // by instruction, JSON; NULL: none
    int version;                      // 0 until final
    char *git;
    int worker_generation, prepared_generation; // of the run worker that has it loaded, and of its inputs; 0: none
    int64_t saved_us, started_us, verdict_us, rung_us, lookup_us;
    int64_t late_us[KB_RUNGS]; // when it began to run; late rungs only, which run side by side
    cJSON *results;            // the events that belong to it, for the record
};

struct kb_slot { // a variant of the bench
    char *name;
    struct kb_session_file *source; // NULL: it has none (kind library, command)
    struct kb_build *current;       // of the newest content; NULL: none yet
    struct kb_build *good;          // the last that passed every rung
    struct kb_build *previous;      // the good one before `current`: what a new version is compared with
    struct kb_build **known;        // this session's finished builds, oldest first
    int known_count, known_capacity;
    bool wants_build;                  // content that was noted while paused, or is not looked at yet
    int last_number;                   // where there is no history
    int reported_generation, reported; // a command: of the bench that its times are of; cases that were asked for
};

enum kb_program_kind { KB_PROGRAM_BUILTIN, KB_PROGRAM_REFERENCE, KB_PROGRAMS };
struct kb_program { // compiled once for all variants
    bool wanted, compiling, ready, failed;
    bool asked, allowed, refused; // the reference: whether options that ask are allowed
    int generation;               // of the bench that the compile in flight is for
    char *reason;                 // failed
    struct kb_blobs blobs;
    cJSON *compiled;
};

struct kb_compile_worker {
    struct kb_peer *peer; // NULL: starting is due
    bool ready;
    int64_t job;            // 0: idle
    struct kb_build *build; // of the job; NULL with job: a program, or nobody wants it any more
    int program;            // kb_program_kind, -1 none
    int64_t rung_us, ready_us;
};
enum { KB_COMPILE_WORKERS = 2 };

enum kb_request {
    KB_REQUEST_NONE,
    KB_REQUEST_PREPARE,
    KB_REQUEST_CHECK,
    KB_REQUEST_RUN,
    KB_REQUEST_VERIFY,
    KB_REQUEST_TIME,
    KB_REQUEST_SETTLE,
    KB_REQUEST_LOAD,
    KB_REQUEST_ROOFS,
    KB_REQUEST_IDLE,
    KB_REQUEST_FORGET,
    KB_REQUEST_EXPORT,
    KB_REQUEST_TRACE,
    KB_REQUEST_REPORT,
    KB_REQUESTS
};
struct kb_run_worker {
    struct kb_lane lane;      // absent: it said that there is no device; nothing is tried again until a restart
    struct kb_peer *spare;    // started without a request; NULL: none
    int generation;           // counts up with each worker
    int prepared, preparing;  // bench generation it is prepared for; 0: none
    struct kb_build **loaded; // what it holds
    int loaded_count, loaded_capacity;
    char *prepare_error;       // of the last prepare; NULL: fine
    const char *prepare_fault; // then: kb_fault_word
    int refused;               // the bench generation that is not prepared again: it cost a worker each time
    int deaths[KB_REQUESTS];   // of workers, at each request, one behind the other; KB_REQUEST_NONE: unasked
    char *in_reference;        // the case whose reference runs now; NULL: none does
    bool roofs_known, idle_done;
    enum kb_request request;
    int64_t idle_job; // a request `idle` that may still answer behind a newer one
    int64_t retry_us, ready_us;
};

enum kb_profile_request {
    KB_PROFILE_NONE,
    KB_PROFILE_PREPARE,
    KB_PROFILE_CHECK,
    KB_PROFILE_HOLD, // takes the sampling hardware while a save compiles; launches nothing
    KB_PROFILE_SECTIONS,
    KB_PROFILE_BYTES, // counters, stage bytes
    KB_PROFILE_REST,
    KB_PROFILE_RELEASE,
};
struct kb_profile_worker { // started when it is first needed; works only while the run worker does not
    struct kb_lane lane;
    bool held, retry, hold_refused;
    char *refused[2]; // of sections, counters: not asked again until a retry
    char *prepare_error;
    int prepared;
    enum kb_profile_request request;
    char *loaded; // key of the version that it was given last
};
enum kb_races_request { KB_RACES_NONE, KB_RACES_PREPARE, KB_RACES_CHECK, KB_RACES_WATCH };
struct kb_races_worker { // a run worker on the CPU device, started when it is first needed
    struct kb_lane lane;
    char *prepare_error;
    int prepared;
    enum kb_races_request request;
    char *loaded; // key of the version that it was given last
    int watched;  // cases that came out clean so far
};
enum kb_disasm_job {
    KB_DISASM_NONE,
    KB_DISASM_SASS, // a version's listing
    KB_DISASM_SAME, // compared with that of the version before
    KB_DISASM_LIST, // a listing that somebody asked for
    KB_DISASM_DIFF,
    KB_DISASM_TRACE, // a traced compile
};
struct kb_reading;
struct kb_disasm_worker { // a compile worker of its own, so that no compile ever waits for a listing
    struct kb_lane lane;  // serves no build itself: no line of its log is a version's
    enum kb_disasm_job kind;
    struct kb_build *build, *other;
    struct kb_reading *reading;
    cJSON *summary; // of SASS, while SAME goes on; the document of DIFF
    int failures;
};
struct kb_text_kept { // a listing that came from the history
    char *variant, *text;
    int version, kind;
};
struct kb_diff_kept { // a document that nobody took yet
    char *text;
    size_t size;
    int id;
};
enum { KB_TEXTS_KEPT = 8, KB_DIFFS_KEPT = 16 };

struct kb_export {          // a failing case that is to become a file; one at a time
    struct kb_build *build; // NULL: none
    int index;              // of the case
    char *label, *file;     // file: absolute; NULL: one beside the history
    cJSON *failure;         // of the `case` event: on which inputs, how often
    char *reason;
    bool asked, writing; // the worker, the io thread has it
};

enum kb_trace_stage { KB_TRACE_NONE, KB_TRACE_COMPILE, KB_TRACE_RUN };
struct kb_tracing {
    enum kb_trace_stage stage;
    bool at_work, told; // a worker has it; its trace came
    struct kb_build *build;
    int case_index;
    struct kb_blobs blobs; // of the traced code
    cJSON *compiled;
    char *error; // the first that the compiler had
};
struct kb_trace_kept {
    char *variant;
    int version;
    struct kb_trace trace;
};
enum { KB_TRACES_KEPT = 4 };

struct kb_asked {
    struct kb_build *build;
    int64_t token;
};
struct kb_dying { // a replaced worker that is not gone yet
    struct kb_peer *peer;
    enum kb_worker_role role;
};

struct kb_session {
    struct kb_session_options options;
    char *worker_path, *bench_path, *bench_dir, *focus, *device_option, *arch_option, *like, *check;
    char **include_dirs, **defines;
    // What the environment says to nvcc: flags; folders of headers; all of it as options, for following headers.
    char *nvcc_flags, *nvcc_folders, **nvcc_options;
    int nvcc_option_count;
    uint64_t seed;
    cJSON *failing_seeds; // [{variant, contract, key, seed, case, set, passes}], newest first
    int64_t start_us, started_unix;
    struct kb_model model;
    struct kb_bench *bench;
    char contract[33];
    struct kb_hash reads; // of what the reference's command reads; "": not known, or it is none
    char **read_names;    // those files, in the bench's folder or absolute; NULL-terminated or NULL
    int64_t reads_token;  // of the question what they are now; 0: not asked
    int bench_generation; // counts up with each contract
    struct kb_session_file **watched;
    int watched_count, watched_capacity;
    struct kb_session_file *bench_file, *reference; // NULL: none
    bool inferred;                                  // the bench was made from a bare .cu
    struct kb_guess guess;                          // then: what was guessed
    struct kb_param_use *uses;                      // then, of the last compile: its kernel's parameters
    int use_count, used_threads;
    struct kb_guess_extent *extents; // then: of results that runs wrote in part
    int extent_count, extent_rounds;
    bool extents_new; // since the guess was made
    char *used_kernel;
    struct kb_project project; // then: how its source is compiled
    char *wanted_kernel;       // of a source that no bench lists; NULL: the best
    bool compiled_once;        // inputs are not prepared before
    bool announced;            // the `session` event was sent
    bool bench_refused;        // the last saved bench.json had an error
    struct kb_slot *slots;
    int slot_count;
    struct kb_program programs[KB_PROGRAMS];
    struct kb_compile_worker compilers[KB_COMPILE_WORKERS];
    char *compile_libs;   // of a compile worker's hello, as text: part of each key
    char *default_arch;   // where no device says which
    bool compiler_absent; // no compile worker can be had
    char *compiler_reason;
    int compile_failures; // in a row, without an answer to a job
    struct kb_run_worker run;
    struct kb_export export;
    bool report_told;  // what the request `report` in flight asks for has come
    cJSON *permission; // the last `permission` event while it is asked for; NULL: nothing is
    struct kb_profile_worker profile;
    struct kb_races_worker races;
    struct kb_disasm_worker disasm;
    struct kb_reading *readings; // in flight, oldest first
    struct kb_text_kept texts[KB_TEXTS_KEPT];
    struct kb_diff_kept diffs[KB_DIFFS_KEPT];
    int texts_next, diffs_next, last_reading;
    struct kb_tracing tracing;
    struct kb_trace_kept traces[KB_TRACES_KEPT];
    int traces_next;
    bool trace_asked, trace_failed; // of options.trace; of the last one
    int64_t last_save_us, late_us;  // late_us: once: when only late rungs were left
    cJSON *device;                  // the `device` event; NULL: not known yet
    char arch[16];                  // what is compiled for; "": not known yet
    struct kb_gpu_lock lock;
    bool lock_waiting;
    bool had_device; // a run worker came up
    bool spare_safe; // a second context does no harm on this device
    int64_t next_job;
    struct kb_dying *dying;
    int dying_count, dying_capacity;
    bool again;           // something happened in this step: another one may find more to do
    struct kb_build *pin; // the baseline; NULL: none
    int pin_variant;      // -1: none wanted
    bool paused, ending, ended;
    int exit_code;
    struct kb_io *io;
    struct kb_seal_key seal_key; // of binaries in the history
    struct kb_asked *asked;      // builds that an io request is in flight for
    int asked_count, asked_capacity;
    bool disk_stuck;
    char *errors_text; // as last written
};

// session.c
cJSON *kb_event(const char *type);                                        // owned
cJSON *kb_build_event(const struct kb_build *, const char *type);         // with variant and version
void kb_emit(struct kb_session *, cJSON *event);                          // takes event
void kb_emit_build(struct kb_session *, struct kb_build *, cJSON *event); // the same; also kept for its record
void kb_status_line(struct kb_session *, const char *level, const char *remedy, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void kb_emit_worker(struct kb_session *, enum kb_worker_role, const char *state, const struct kb_peer *,
                    const char *reason);
void kb_emit_libs(struct kb_session *, enum kb_worker_role, const cJSON *libs); // of a `hello`; not what is known
void kb_emit_log(struct kb_session *, const char *source, const char *variant, const char *text, int64_t dropped);
int kb_sooner(int a, int b); // of two waits in ms, -1 being never
void kb_retire(struct kb_session *, struct kb_peer *, enum kb_worker_role, const char *why, bool now); // takes peer
bool kb_run_worker_dying(const struct kb_session *);
bool kb_on_cpu(const struct kb_session *);
bool kb_on_gpu(const struct kb_session *);    // known to be
bool kb_no_device(const struct kb_session *); // asked, and there is none

// sources.c: the bench, its files, and what follows when one changes
int kb_sources_open(struct kb_session *, struct kb_error *);
void kb_sources_free(struct kb_session *);
void kb_sources_announce(struct kb_session *);                       // the `session` event, and later `bench` events
void kb_sources_accept(struct kb_session *, struct kb_bench *next);  // takes the bench
void kb_sources_event(struct kb_session *, struct kb_watch_event *); // takes its snapshot
void kb_consider_slot(struct kb_session *, int slot);                // starts a build if the content asks for one
void kb_consider_waiting(struct kb_session *);                       // those that could not be looked at before
void kb_consider_all(struct kb_session *);
void kb_sources_decided(struct kb_session *);        // something that is part of the contract may have changed
void kb_sources_watch(struct kb_session *);          // what the bench, as it is now, asks for
int kb_focus_index(const struct kb_session *);       // -1: no such variant
cJSON *kb_bench_document(const struct kb_session *); // for prepare; owned
void kb_shared_unref(struct kb_shared *);
void kb_slot_free(struct kb_slot *);                           // what it holds
char **kb_include_dirs(const struct kb_session *, int *count); // absolute; owned, each text and the list

// reach.c
void kb_reach_environment(struct kb_session *);
bool kb_may_use_nvcc(const struct kb_variant *);
void kb_reach_of(const struct kb_session *, const struct kb_variant *, struct kb_reach_words *out);
bool kb_reach_same(const struct kb_reach_words *, const struct kb_reach_words *);
struct kb_reach kb_reach_view(const struct kb_reach_words *);
void kb_reach_free(struct kb_reach_words *);
// NULL-terminated or NULL, owned with its texts.
char **kb_reach_options(const struct kb_session *, const struct kb_variant *, const struct kb_snapshot *, int *count);

// contract.c. compute: true: it is another one. What a command reads is asked of the io thread, but for the first time.
bool kb_contract_compute(struct kb_session *);
void kb_contract_compiled(struct kb_session *); // the reference is: by which compiler belongs to the contract
void kb_reads_open(struct kb_session *);        // blocks
void kb_reads_ask(struct kb_session *);
void kb_reads_answered(struct kb_session *, const cJSON *what);
void kb_reads_free(struct kb_session *);

// guess.c: what is only guessed accuses nobody
bool kb_guess_doubts(const struct kb_session *, const struct kb_build *, enum kb_rung failed, const char *reason);
char *kb_guess_words(const struct kb_session *, const char *reason); // "perhaps the guess: ..."; owned
void kb_guess_soften(struct kb_session *, cJSON *event);       // a `case` or `findings` event, in place
int kb_guess_open(struct kb_session *, struct kb_error *);
void kb_guess_offer(struct kb_session *); // says what was guessed and found
// What to compile for on this device: with the project's suffix ("sm_90a") if it is of the same kind.
const char *kb_guess_arch(const struct kb_session *, const char *device);
void kb_guess_again(struct kb_session *, const struct kb_snapshot *); // the file changed
void kb_guess_compiled(struct kb_session *, struct kb_build *);       // before its rung `check`; may supersede it
// The run of a guess failed, but told how much it writes: true if the guess was made anew from that, and b is to run again.
bool kb_guess_learn(struct kb_session *, struct kb_build *);
void kb_guess_drop(struct kb_session *);

// build.c: the ladder of one build
void kb_build_start(struct kb_session *, int slot, struct kb_build *);  // takes the reference
void kb_build_return(struct kb_session *, int slot, struct kb_build *); // its content is back (undo)
struct kb_build *kb_build_new(struct kb_session *, int slot);
void kb_build_refuse(struct kb_session *, struct kb_build *, const char *reason); // its options: the rung scan fails
void kb_build_allowed(struct kb_session *, struct kb_build *);
struct kb_build *kb_build_ref(struct kb_build *);
struct kb_slot *kb_slot_of(const struct kb_session *, const struct kb_build *); // NULL: its variant left the bench
void kb_build_unref(struct kb_build *);
void kb_build_supersede(struct kb_session *, struct kb_build *);
void kb_build_rung(struct kb_session *, struct kb_build *, enum kb_rung, enum kb_status, double ms, const char *reason);
const char *kb_fault_word(const char *); // "reference", "bench" or "worker", static; NULL: no such word
void kb_build_rung_done(struct kb_session *, struct kb_build *, enum kb_rung); // goes on to the next, or ends
void kb_build_rerun(struct kb_session *, struct kb_build *, enum kb_rung from);
void kb_build_settle(struct kb_session *, struct kb_build *); // its content is final, or its compile ended: claim
void kb_build_found(struct kb_session *, struct kb_build *, int number, const cJSON *record, struct kb_blobs *);
void kb_build_claimed(struct kb_session *, struct kb_build *, int number, const char *git, bool known);
void kb_build_no_device(struct kb_session *, struct kb_build *);
void kb_build_no_compiler(struct kb_session *, struct kb_build *);
void kb_build_resources(struct kb_session *, struct kb_build *); // what the compiler said, before a device adds to it
void kb_build_errors(struct kb_session *, struct kb_build *, const cJSON *frame); // the `errors` frame
void kb_build_cancel(struct kb_session *, struct kb_build *);                     // by hand: the rungs left are skipped
bool kb_build_in_flight(const struct kb_build *);
int kb_build_failed_rung(const struct kb_build *); // that decides, the first; -1: none
bool kb_build_failed(const struct kb_build *);
bool kb_build_passed(const struct kb_build *);
void kb_build_disproved(struct kb_session *,
                        struct kb_build *); // a late rung or the settled timing failed: its verdict is taken back
void kb_blobs_free(struct kb_blobs *);

// order.c: who is next
extern int kb_lookup_ms; // a history that answers later is not waited for; tests wait longer
struct kb_schedule kb_order(const struct kb_session *);            // as things are now
struct kb_build *kb_build_at(const struct kb_session *, int slot); // its newest content; slot -1: NULL
int kb_lookup_wait_ms(const struct kb_session *);
bool kb_is_wanted(const struct kb_session *, const struct kb_slot *); // not all: one to be traced, --once --variant
bool kb_all_done(const struct kb_session *);                          // every variant's content has its verdict

// compile.c, run.c: the lanes
void kb_compile_absent(struct kb_session *, const char *reason); // no compiler can be had
void kb_compile_fields(struct kb_session *, cJSON *head, const char *what, const struct kb_snapshot *,
                       const struct kb_variant *, struct kb_text *blob);
void kb_take_blobs(struct kb_blobs *, struct kb_frame *); // of a `compiled` frame
void kb_compile_step(struct kb_session *);
void kb_compile_drop(struct kb_session *, const struct kb_build *); // kills the compile of this build
int kb_compile_wait_ms(const struct kb_session *);
int kb_run_wait_ms(const struct kb_session *);
int kb_records_wait_ms(const struct kb_session *);
void kb_compile_free(struct kb_session *);
struct kb_peer *kb_run_spawn(struct kb_session *, struct kb_error *);
void kb_run_assign(struct kb_session *); // requests.c: the next request, if the worker is free
void kb_run_step(struct kb_session *);
void kb_run_drop(struct kb_session *, const struct kb_build *); // ends its request
void kb_run_free(struct kb_session *);
void kb_run_restart(struct kb_session *, const char *why);
void kb_run_forgive(struct kb_session *); // what workers died at may be tried again
void kb_compile_restart(struct kb_session *, const char *why);

// verdict.c: events of results, the baseline, the goal
void kb_verdict_event(struct kb_session *, struct kb_build *, const struct kb_frame *);
void kb_strip_frame(cJSON *head); // a frame's head without what belongs to the pipe
void kb_load_failed(struct kb_session *, struct kb_build *, const char *reason);
void kb_goal_check(struct kb_session *, struct kb_build *);
int kb_against(struct kb_session *, struct kb_build *, struct kb_build *out[2]); // builds to be timed beside it
void kb_pin(struct kb_session *, const char *arg);
void kb_pin_update(struct kb_session *);                        // a wanted baseline became available
void kb_pin_lost(struct kb_session *, const struct kb_build *); // it is no baseline any more

// late.c: the rungs behind the verdict
void kb_late_begin(struct kb_session *, struct kb_build *); // its verdict is known
void kb_late_end(struct kb_session *, struct kb_build *, enum kb_rung, enum kb_status, const char *reason);
void kb_late_na(struct kb_session *, struct kb_build *, enum kb_rung, const char *reason);
bool kb_late_due(const struct kb_build *, enum kb_rung);
bool kb_late_owed(const struct kb_build *);   // some of them are still to come
bool kb_late_done(const struct kb_session *); // once: nothing is left
void kb_late_expire(struct kb_session *);     // once: what is left has some seconds from the first call on
int kb_late_wait_ms(const struct kb_session *);
void kb_late_retry(struct kb_session *);
cJSON *kb_section_marks(const struct kb_build *); // [{file, line, end_line, name}] of its //kb: section lines
void kb_late_event(struct kb_session *, struct kb_build *, const cJSON *head); // a frame of the profile worker
char *kb_name_for_people(const struct kb_session *, const struct kb_build *, const char *file);

// advise.c: what limits a version, once nothing is owed any more
void kb_advise(struct kb_session *, struct kb_build *);

// ended.c: the verdict, and `done`, once for each build
cJSON *kb_build_outcome(const struct kb_build *, const char *type, int64_t at_us); // the event; at: on kb_now_us
void kb_ended_step(struct kb_session *);                     // for those that owe nothing any more
void kb_ended_all(struct kb_session *);                      // for all with a verdict: the session ends
void kb_ended_slot(struct kb_session *, struct kb_slot *);   // likewise: its variant left the bench
void kb_ended_build(struct kb_session *, struct kb_build *); // likewise: whatever it owes does not come

// counted.c: sections and counters from what the CPU device counted
void kb_counted(struct kb_session *, struct kb_build *);

// profile.c: the profile lane
extern struct kb_profile_times {
    int counters_ms, others_ms, release_ms; // since the last save; other variants than the focused one; give back
} kb_profile_times;                         // tests shorten them
void kb_profile_step(struct kb_session *);
void kb_profile_yield(struct kb_session *); // ends the request in flight: something more urgent came
enum kb_profile_request kb_profile_due(const struct kb_session *, const struct kb_build *);
bool kb_profile_has_time(const struct kb_session *); // for variants that nobody looks at
bool kb_profile_wants(const struct kb_session *);    // something is due now
int kb_profile_wait_ms(const struct kb_session *);
void kb_profile_restart(struct kb_session *, const char *why);
void kb_profile_free(struct kb_session *);
cJSON *kb_prepare_fields(struct kb_session *, cJSON *head, int sets, bool reference, struct kb_text *blob);
void kb_check_fields(cJSON *head, struct kb_build *, struct kb_text *blob);
bool kb_take_gpu(struct kb_session *); // the lock between instances
bool kb_may_profile(const struct kb_session *);

// races.c: the races lane
void kb_races_begin(struct kb_session *, struct kb_build *);            // its verdict is known: it passed
bool kb_races_look(const struct kb_session *, const struct kb_build *); // it failed, and why is to be looked for
void kb_races_tell_cause(struct kb_session *, struct kb_build *);       // that has ended
bool kb_races_due(const struct kb_build *);
void kb_races_step(struct kb_session *);
void kb_races_restart(struct kb_session *, const char *why);
void kb_races_free(struct kb_session *);

// disasm.c: listings by nvdisasm, comparisons
void kb_disasm_step(struct kb_session *);
void kb_disasm_restart(struct kb_session *, const char *why);
void kb_disasm_free(struct kb_session *);

// listing.c: what the screen asked for
enum kb_reading_state { KB_READING_GATHER, KB_READING_READY, KB_READING_WORK };
struct kb_reading_side {
    char *variant, *text, *cubin, *samples;
    size_t text_size, cubin_size;
    int version;
    int64_t token; // of the history's answer; 0: none in flight
    char *reason;  // why there is nothing
};
struct kb_reading {
    struct kb_reading *next;
    enum kb_reading_state state;
    enum kb_listing kind;
    bool diff, raw;
    int id;
    struct kb_reading_side sides[2]; // a listing: the first
};
bool kb_listing_answered(struct kb_session *, int64_t token, bool failed, const char *reason, const char *name,
                         char **data, size_t *size);     // takes *data where it was asked for
struct kb_reading *kb_listing_next(struct kb_session *); // one that needs a worker
void kb_listing_listed(struct kb_session *, struct kb_reading *, const char *text, size_t size, const char *reason);
// document: taken; NULL: there is none, for this reason.
void kb_listing_compared(struct kb_session *, struct kb_reading *, char *document, size_t size, const char *reason);
void kb_listing_made(struct kb_session *, struct kb_build *); // its sass rung ended
void kb_listing_free(struct kb_session *);
void kb_emit_transient(struct kb_session *, cJSON *event); // not for the session file; takes event

// allow.c: a bench that runs a command asks first
// Options of the compiler that ask. False: they have to be allowed first; then the build (in KB_STAGE_ASK; NULL: the
// reference) goes on, or fails, when the answer comes.
bool kb_options_may_go(struct kb_session *, struct kb_build *);
void kb_options_answered(struct kb_session *, struct kb_build *, const struct kb_error *, bool given,
                         const cJSON *what);
void kb_permission_asked(struct kb_session *, const cJSON *head); // the worker's frame; NULL: it is prepared anew
void kb_permission_written(struct kb_session *, bool failed, const struct kb_error *);

// reported.c: variants that are commands and time themselves
bool kb_report_due(const struct kb_session *);
cJSON *kb_report_fields(struct kb_session *, cJSON *head); // of the request; takes and returns head
void kb_report_yield(struct kb_session *);                 // something more urgent came
void kb_report_frame(struct kb_session *, const cJSON *head);
void kb_report_end(struct kb_session *, enum kb_status, const char *reason);
void kb_report_again(struct kb_session *); // a script was saved
bool kb_report_done(const struct kb_session *);

// export.c: a failing case as a .cu
bool kb_export_due(const struct kb_session *);                  // a run worker is to be asked
cJSON *kb_export_fields(struct kb_session *, cJSON *head);      // of the request; takes and returns head
void kb_export_text(struct kb_session *, const char *text);     // the worker made it
void kb_export_end(struct kb_session *, const char *reason);    // of the request; NULL: it went well
void kb_export_refuse(struct kb_session *, const char *reason); // whatever waits will not come
void kb_export_written(struct kb_session *, const char *path, const struct kb_error *); // path NULL: it was not
void kb_export_free(struct kb_session *);
// The case that a version failed on at this rung. failure: on which inputs, as in its `case` event; NULL: it ended
// before it could tell.
int kb_failing_case(const struct kb_session *, const struct kb_build *, enum kb_rung, const cJSON **failure);

// trace.c: one version compiled and run so that its sections record
void kb_tracing_command(struct kb_session *, const char *arg); // of KB_COMMAND_TRACE; NULL: the focus
void kb_tracing_ask(struct kb_session *, const char *variant, int version, int case_index); // 0, -1: newest, headline
bool kb_tracing_pending(const struct kb_session *);
bool kb_tracing_wants_compile(const struct kb_session *);
cJSON *kb_tracing_compile(struct kb_session *, struct kb_text *blob); // the request, its job is the newest
void kb_tracing_compile_frame(struct kb_session *, struct kb_frame *);
void kb_tracing_compiled(struct kb_session *, const char *reason); // reason: why it did not
struct kb_build *kb_tracing_due(const struct kb_session *);        // waits for the run worker; NULL: none
void kb_tracing_run_fields(struct kb_session *, cJSON *head, struct kb_text *blob);
void kb_tracing_frame(struct kb_session *, const struct kb_frame *);
void kb_tracing_end(struct kb_session *, bool passed, const char *reason);
void kb_tracing_drop(struct kb_session *); // and all that are kept

// seeds.c
void kb_seeds_start(struct kb_session *); // reads the failing ones of before
void kb_seeds_free(struct kb_session *);
void kb_seeds_read(struct kb_session *, const char *text);                             // NULL: there are none
void kb_seeds_fields(const struct kb_session *, const struct kb_build *, cJSON *head); // of the request `verify`
void kb_seeds_event(struct kb_session *, struct kb_build *, const cJSON *event);       // `case` and `seed` events

// records.c: the io thread's side: watching, history, session stream, errors.txt
int kb_records_start(struct kb_session *, struct kb_error *);
void kb_records_step(struct kb_session *);
int kb_records_fd(const struct kb_session *);
void kb_records_free(struct kb_session *);
void kb_records_ask(struct kb_session *, struct kb_build *, char *const *command); // kb_options_answered follows
void kb_records_watch(struct kb_session *, struct kb_session_file *);
void kb_records_unwatch(struct kb_session *, struct kb_session_file *);
void kb_records_find(struct kb_session *, struct kb_build *);
void kb_records_claim(struct kb_session *, struct kb_build *);
void kb_records_update(struct kb_session *, struct kb_build *);                 // what is known of it now
int64_t kb_records_load(struct kb_session *, const char *variant, int version); // 0: there is no history
void kb_records_stream(struct kb_session *, const char *line);
void kb_records_allow(struct kb_session *, char *const *command, const char *hash);
void kb_records_create(struct kb_session *, const char *path, const char *text, bool numbered);
void kb_records_seeds(struct kb_session *, const char *text);
void kb_records_errors(struct kb_session *); // errors.txt of all variants
bool kb_records_pending(const struct kb_session *);
#endif
