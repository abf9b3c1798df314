// The run worker's own: its state, and one function for each kind of request. Each sends exactly one `done`.
#ifndef KB_WORKER_RUN_H
#define KB_WORKER_RUN_H
#include "bench/permission.h"
#include "profiles/roofline.h"
#include "profiles/timing_floor.h"
#include "verify/data.h"
#include "verify/trial.h"
#include "worker/frames.h"

enum { RUN_VERSIONS = 8 };

struct run_counted { // what the CPU device counted in one run of a case
    bool known;
    double flops, bytes; // bytes: asked of global memory by active lanes
};
struct run_version { // one built version, loaded
    char *key;
    struct kb_variant *variant;
    cJSON *compiled; // `kernels` of its `compiled` frame
    struct kb_image image;
    struct kb_program program;
    struct run_counted *counted; // by case
    char *doubt;                 // a type that may not be what the bench means, told where it fails; NULL: none
    uint64_t last_used;
};
struct run_worker {
    struct kb_device *device;
    char like[32]; // the GPU whose limits and peaks the CPU device takes on
    struct kb_peaks peaks;
    struct kb_roofs roofs;
    struct kb_noise noise;
    bool overhead_known; // it was measured, or cannot be (then NAN)
    double overhead_us;  // of an empty kernel by the same method
    bool has_data;
    struct kb_data data;
    struct kb_frame prepared; // the request that data came with; its blob holds the .npy files
    struct kb_data_file *files;
    struct kb_image builtin;
    struct run_version versions[RUN_VERSIONS];
    int version_count;
    uint64_t uses;
    uint64_t verified;            // versions, so far
    bool no_turns;                // what versions on a GPU meet by turns is tried whole
    int64_t started_us;           // the request at hand
    const struct kb_frame *frame; // the request at hand
    cJSON *not_tried;             // texts that go with its rung; NULL: everything was tried
    bool idle;                    // which any other may end
    int64_t alive_us;             // when a sign of life was sent last
    bool headline_only;           // profile worker: prepares the headline case alone, and no timing
    bool quit;
};

void run_prepare(struct run_worker *, const struct kb_frame *); // may keep the frame's blob
void run_check(struct run_worker *, const struct kb_frame *);
void run_run(struct run_worker *, const struct kb_frame *);
void run_verify(struct run_worker *, const struct kb_frame *);
// Behind the first verdict on a GPU: all that versions meet by turns before it. Why it is wrong there, owned; NULL: it
// is right, or there was nothing.
char *run_verify_rest(struct run_worker *, const struct kb_frame *, struct run_version *);
void run_time(struct run_worker *, const struct kb_frame *);
void run_races(struct run_worker *, const struct kb_frame *);
void run_roofs(struct run_worker *, const struct kb_frame *);
void run_trace(struct run_worker *, const struct kb_frame *);
void run_forget(struct run_worker *, const struct kb_frame *);
void run_export(struct run_worker *, const struct kb_frame *);
void run_report(struct run_worker *, const struct kb_frame *);
void run_idle(struct run_worker *, const struct kb_frame *);

// For verify/command.h: what a command of the bench in this folder is asked and told.
struct kb_command run_command_hooks(struct run_worker *, const char *dir);
void run_ask_permission(const struct run_worker *, const char *dir, char *const *command, const struct kb_permission *);

// The kernel's own pointer types against the bench's, where they are known: the error says "y is f32 in the bench, half
// * in k.cu:2". What may be meant is kept as v->doubt.
int run_check_types(const struct run_worker *, struct run_version *, struct kb_error *);

// The version of a request, marked as used; NULL if it is not (any more) loaded.
struct run_version *run_find(struct run_worker *, const char *key);
void run_drop(struct run_worker *, struct run_version *);
// Answers that a request cannot be served: `rung` (if not NULL) failed, then `done`.
void run_refuse(struct run_worker *, const struct kb_frame *, const char *rung, const char *reason);
// `rung`, then `done` with poisoned as the device's fault says; a lost device ends the worker.
void run_end(struct run_worker *, const struct kb_frame *, const char *rung, const char *status, const char *reason);
char *run_trial_label(const struct kb_case_data *, const struct kb_trial *); // case and inputs, for people; owned
// The inputs that a version failed on, made again in buffers of their own, from the failure{} of a `case` frame;
// without the reference's results. kb_set_free frees them, after an error, too.
int run_failing_set(struct run_worker *, const struct kb_case_data *, const cJSON *failure, struct kb_set *own,
                    struct kb_error *);
bool run_finding_fails(const struct kb_trial *); // the device saw something that is wrong, whatever came out
// What the device saw while it ran a case, as a `findings` frame; nothing if there is nothing. inputs: as in kb_trial.
void run_send_findings(const struct kb_frame *, const char *rung, const char *version, const struct kb_case_data *,
                       const struct kb_trial *);
// The session wants this job to end: its cancelling, the end of the input, or quit.
bool run_cancelled(const struct kb_frame *);
double run_ms(const struct run_worker *); // since the request came
bool run_device_lost(const struct run_worker *);
bool run_was_refused(const struct run_worker *); // the last failure: the device does not run such code at all

cJSON *run_device_json(const struct run_worker *);
// roofline{} of a `timing` event for a case; time_us NAN with cold_reason: only the work and the floor are known.
struct kb_work run_work(const struct run_worker *, const struct kb_case_data *);
cJSON *run_roofline_json(const struct run_worker *, const struct kb_work *, double time_us, bool cold);

#endif
