// The run lane: one worker with the device, one request at a time (the GPU token), a deadline each, and a replacement
// whenever the worker dies, hangs or lost its context.
#include "loop/parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    HELLO_MS = 60000,
    MOST_FAILURES = 3,
    RETRY_MS = 300,
    STEADY_MS = 10000, // a worker that lived so long starts no series of deaths
    BUSY_RETRIES = 20,
    LOCK_MS = 20,
};

// Workers

struct kb_peer *kb_run_spawn(struct kb_session *s, struct kb_error *e)
{
    char *argv[10] = {s->worker_path, "run", "--device", s->device_option};
    int n = 4;
    if (s->like) {
        argv[n++] = "--like";
        argv[n++] = s->like;
    }
    if (s->check) {
        argv[n++] = "--check";
        argv[n++] = s->check;
    }
    struct kb_peer *peer = kb_peer_start(argv, e);
    if (peer)
        kb_peer_deadline(peer, HELLO_MS);
    return peer;
}

static void drop_loaded(struct kb_run_worker *r)
{
    for (int i = 0; i < r->loaded_count; i++)
        kb_build_unref(r->loaded[i]);
    r->loaded_count = 0;
}

static void forget_worker(struct kb_session *s)
{
    struct kb_run_worker *r = &s->run;
    r->request = KB_REQUEST_NONE;
    r->idle_job = 0;
    r->idle_done = false;
    r->prepared = 0;
    free(r->in_reference);
    r->in_reference = NULL;
    drop_loaded(r);
    if (s->profile.request == KB_PROFILE_NONE)
        kb_gpu_lock_release(&s->lock);
}

static void device_event(struct kb_session *s, cJSON *device)
{
    kb_json_set_text(device, "type", "device");
    cJSON_Delete(s->device);
    s->device = cJSON_Duplicate(device, true);
    kb_emit(s, device);
}

static void choose_arch(struct kb_session *s)
{
    const char *device = kb_json_text(s->device, "arch", NULL);
    if (s->arch_option || (s->arch[0] && !device))
        return;
    const char *arch = kb_guess_arch(s, device && *device ? device : s->default_arch);
    if (arch)
        snprintf(s->arch, sizeof s->arch, "%s", arch);
    if (arch)
        kb_consider_waiting(s);
}

static void absent(struct kb_session *s, const char *code, const char *what, const char *remedy)
{
    free(s->run.lane.absent);
    s->run.lane.absent = kb_strdup(what);
    cJSON *device = cJSON_CreateObject();
    kb_json_set_text(device, "kind", "none");
    kb_json_set_text(device, "code", code);
    kb_json_set_text(device, "reason", what);
    kb_json_set_text(device, "remedy", remedy);
    device_event(s, device);
    kb_emit_worker(s, KB_WORKER_RUN, "failed", s->run.lane.peer, what);
    kb_status_line(s, "error", remedy, "no device: %s", what);
    kb_export_refuse(s, what);
    choose_arch(s);
    for (int i = 0; i < s->slot_count; i++) {
        struct kb_build *b = s->slots[i].current;
        if (b && !b->dead && b->stage == KB_STAGE_LADDER)
            kb_build_no_device(s, b);
    }
}

static void start_worker(struct kb_session *s)
{
    struct kb_run_worker *r = &s->run;
    struct kb_error error = {0};
    if (r->spare) {
        r->lane.peer = r->spare;
        r->spare = NULL;
    } else {
        r->lane.peer = kb_run_spawn(s, &error);
    }
    r->generation++;
    if (!r->lane.peer) {
        absent(s, "internal", kb_error_line(&error),
               "build the whole project: kbench-worker belongs beside kbench-tui");
        return;
    }
    kb_emit_worker(s, KB_WORKER_RUN, "starting", r->lane.peer, NULL);
}

static void hello_failed(struct kb_session *s, const cJSON *failed)
{
    struct kb_run_worker *r = &s->run;
    const char *code = kb_json_text(failed, "code", "internal");
    bool again = !strcmp(code, "busy") && s->had_device && r->lane.failures < BUSY_RETRIES;
    r->lane.failures++;
    if (again) { // the memory or the exclusive context of the one before may take a moment to be given back
        r->retry_us = kb_now_us() + RETRY_MS * 1000;
        return;
    }
    absent(s, code, kb_json_text(failed, "what", "the run worker failed"), kb_json_text(failed, "remedy", NULL));
}

// A second context needs a default compute mode, no MPS, and over a quarter of the memory free; unknown is no.
static bool spare_is_safe(const cJSON *device)
{
    double free_bytes = kb_json_number(device, "free_bytes", NAN), total = kb_json_number(device, "memory_bytes", NAN);
    return !kb_json_bool(device, "exclusive_process", true) && kb_json_int(device, "mps", 1) == 0 &&
           free_bytes > 0.25 * total;
}

// Versions whose rungs did not apply while there was no device.
static void catch_up(struct kb_session *s)
{
    for (int i = 0; i < s->slot_count; i++) {
        struct kb_build *b = s->slots[i].current;
        if (b && b->stage == KB_STAGE_DONE && b->compiled && b->rungs[KB_RUNG_CHECK] == KB_STATUS_NA)
            kb_build_rerun(s, b, KB_RUNG_CHECK);
    }
}

static void hello(struct kb_session *s, const cJSON *head)
{
    struct kb_run_worker *r = &s->run;
    const cJSON *failed = kb_json_get(head, "failed"), *device = kb_json_get(head, "device");
    kb_peer_deadline(r->lane.peer, 0);
    kb_emit_libs(s, KB_WORKER_RUN, kb_json_get(head, "libs"));
    if (cJSON_IsObject(failed)) {
        hello_failed(s, failed);
        return;
    }
    bool was_cpu = kb_on_cpu(s);
    r->lane.ready = true;
    r->ready_us = kb_now_us();
    r->lane.failures = 0;
    if (!s->had_device) {
        device_event(s, cJSON_IsObject(device) ? cJSON_Duplicate(device, true) : cJSON_CreateObject());
        if (kb_on_cpu(s) != was_cpu)
            kb_sources_announce(s); // its cases have other sizes there
        struct kb_error error = {0};
        if (kb_on_gpu(s) && kb_gpu_lock_open(&s->lock, kb_json_text(s->device, "uuid", NULL), &error))
            kb_status_line(s, "warning", error.remedy, "no lock between instances: %s", error.what);
    }
    s->had_device = true;
    if (kb_on_cpu(s))
        kb_peer_cores(r->lane.peer, (int)sysconf(_SC_NPROCESSORS_ONLN));
    s->spare_safe = spare_is_safe(device);
    choose_arch(s);
    kb_emit_worker(s, KB_WORKER_RUN, "ready", r->lane.peer, NULL);
    catch_up(s);
}

static const struct kb_lane_kind lane_kind; // below

// Answers

static int rung_of(enum kb_request request)
{
    return request == KB_REQUEST_CHECK    ? KB_RUNG_CHECK
           : request == KB_REQUEST_RUN    ? KB_RUNG_RUN
           : request == KB_REQUEST_VERIFY ? KB_RUNG_VERIFY
           : request == KB_REQUEST_TIME   ? KB_RUNG_TIME
                                          : -1;
}

static enum kb_status outcome(const char *text)
{
    int status = kb_status_parse(text);
    return status == KB_STATUS_PASS || status == KB_STATUS_NA || status == KB_STATUS_SKIP ? (enum kb_status)status
                                                                                          : KB_STATUS_FAIL;
}

static void close_rung(struct kb_session *s, struct kb_build *b, enum kb_rung rung, enum kb_status status,
                       const char *reason)
{
    if (b->rungs[rung] <= KB_STATUS_RUNNING || (status == KB_STATUS_FAIL && b->rungs[rung] != KB_STATUS_FAIL))
        kb_build_rung(s, b, rung, status, (double)(kb_now_us() - b->rung_us) / 1000.0, reason);
    kb_build_rung_done(s, b, rung);
}

static void end_of_prepare(struct kb_session *s, bool ok, const char *reason, const char *fault)
{
    struct kb_run_worker *r = &s->run;
    r->prepared = r->preparing;
    drop_loaded(r); // their launches were planned for the bench before
    r->idle_done = false;
    free(r->prepare_error);
    r->prepare_error = ok ? NULL : kb_strdup(reason);
    r->prepare_fault = fault ? fault : "bench";
    if (!ok && !strcmp(r->prepare_fault, "reference"))
        kb_status_line(s, "error", NULL, "the reference failed: %s", reason);
    else if (!ok)
        kb_status_line(s, "error", NULL, "preparing the inputs failed: %s", reason);
}

static void hold(struct kb_run_worker *r, struct kb_build *b)
{
    b->worker_generation = r->generation;
    b->prepared_generation = r->prepared;
    for (int i = 0; i < r->loaded_count; i++) {
        if (r->loaded[i] != b)
            continue;
        memmove(&r->loaded[i], &r->loaded[i + 1], sizeof *r->loaded * (size_t)(r->loaded_count - 1 - i));
        r->loaded[r->loaded_count - 1] = b; // the last one used stands last
        return;
    }
    KB_GROW(r->loaded, r->loaded_count, r->loaded_capacity);
    r->loaded[r->loaded_count++] = kb_build_ref(b);
}

// The longer timing looks longer: a version that it finds wrong was never right. Its verdict is taken back.
static void settled(struct kb_session *s, struct kb_build *b, enum kb_status status, const char *reason,
                    const char *fault)
{
    if (status == KB_STATUS_FAIL && kb_build_passed(b)) {
        b->fault_of = fault;
        kb_build_rung(s, b, KB_RUNG_TIME, KB_STATUS_FAIL, NAN, reason);
        kb_build_disproved(s, b);
    }
    kb_goal_check(s, b);
    kb_records_update(s, b);
}

// The request ended with this outcome, for good or bad. fault: a kb_fault_word, of a failure.
static void end_of_request(struct kb_session *s, enum kb_status status, const char *reason, const char *fault)
{
    struct kb_run_worker *r = &s->run;
    struct kb_build *b = kb_lane_close(&r->lane);
    enum kb_request kind = r->request;
    int rung = rung_of(kind);
    r->request = KB_REQUEST_NONE;
    if (kind == KB_REQUEST_PREPARE && status != KB_STATUS_SKIP)
        end_of_prepare(s, status == KB_STATUS_PASS, reason, fault);
    else if (kind == KB_REQUEST_ROOFS)
        r->roofs_known = true;
    else if (kind == KB_REQUEST_IDLE)
        r->idle_done = true;
    else if (kind == KB_REQUEST_REPORT)
        kb_report_end(s, r->lane.cancelled ? KB_STATUS_SKIP : status, reason);
    else if (kind == KB_REQUEST_EXPORT)
        kb_export_end(s, reason);
    bool checked = kind == KB_REQUEST_CHECK || kind == KB_REQUEST_LOAD;
    if (b && r->lane.peer && (checked ? status == KB_STATUS_PASS : kind != KB_REQUEST_FORGET))
        hold(r, b);
    bool load_failed = b && kind == KB_REQUEST_LOAD && status != KB_STATUS_PASS;
    if (kind == KB_REQUEST_TRACE || (load_failed && kb_tracing_due(s) == b))
        kb_tracing_end(s, kind == KB_REQUEST_TRACE && status == KB_STATUS_PASS && !r->lane.cancelled,
                       r->lane.cancelled ? "it was cut short, by a newer save or by hand: ask again" : reason);
    else if (load_failed)
        kb_load_failed(s, b, reason);
    if (b && status == KB_STATUS_FAIL && rung >= 0)
        b->fault_of = fault;
    bool again = b && !b->dead && !r->lane.cancelled && kind == KB_REQUEST_RUN && status == KB_STATUS_FAIL &&
                 kb_guess_learn(s, b);
    if (b && !b->dead && !r->lane.cancelled && rung >= 0 && !again)
        close_rung(s, b, (enum kb_rung)rung, status, reason);
    if (b && !b->dead && kind == KB_REQUEST_SETTLE && !r->lane.cancelled)
        settled(s, b, status, reason, fault);
    if (b && kind == KB_REQUEST_SETTLE && r->lane.cancelled)
        b->settled_timing = true; // for when its content comes back
    if (kind == KB_REQUEST_VERIFY || kind == KB_REQUEST_SETTLE)
        r->idle_done = false;
    kb_build_unref(b);
    s->again = true;
}

static void done_frame(struct kb_session *s, const cJSON *head)
{
    struct kb_run_worker *r = &s->run;
    const char *text = kb_json_text(head, "reason", NULL);
    char *reason = text ? kb_cleaned(text) : NULL;
    bool poisoned = kb_json_bool(head, "poisoned", false), prepare = r->request == KB_REQUEST_PREPARE;
    if (!strcmp(kb_json_text(head, "status", ""), "cancelled"))
        r->lane.cancelled = true;
    enum kb_status status = poisoned && strcmp(kb_json_text(head, "status", ""), "na")
                                ? KB_STATUS_FAIL
                                : outcome(kb_json_text(head, "status", "fail"));
    if (poisoned) { // it exits by itself; whatever it still says is of no use
        kb_lane_retire(s, &r->lane, &lane_kind, reason ? reason : "its context was lost", false);
    }
    r->deaths[r->request] = 0;
    if (!prepare && r->request != KB_REQUEST_IDLE) // those it is asked by itself
        r->deaths[KB_REQUEST_NONE] = 0;
    end_of_request(s, status,
                   reason                     ? reason
                   : status == KB_STATUS_FAIL ? "the worker gave no reason"
                                              : NULL,
                   kb_fault_word(kb_json_text(head, "fault_of", NULL)));
    if (poisoned && prepare)
        r->refused = r->preparing; // another worker would end in the same way
    if (poisoned)
        kb_lane_forget(s, &s->run.lane, &lane_kind);
    free(reason);
}

static void log_frame(struct kb_session *s, const struct kb_frame *frame)
{
    struct kb_text clean = {0};
    const char *text = kb_json_text(frame->head, "text", frame->blob ? frame->blob : "");
    kb_clean(&clean, text, strlen(text), false);
    if (clean.size)
        kb_emit_log(s, "run", s->run.lane.build ? s->run.lane.build->name : NULL, clean.data,
                    kb_json_int(frame->head, "dropped", 0));
    kb_text_free(&clean);
}

static void rung_frame(struct kb_session *s, const cJSON *head)
{
    struct kb_build *b = s->run.lane.build;
    int rung = kb_rung_parse(kb_json_text(head, "rung", "")),
        status = kb_status_parse(kb_json_text(head, "status", "?"));
    if (!b || s->run.lane.cancelled || rung != rung_of(s->run.request) || status <= KB_STATUS_RUNNING)
        return;
    if (rung == KB_RUNG_VERIFY) {
        cJSON_Delete(b->not_tried);
        b->not_tried = kb_json_get(head, "not_tried") ? cJSON_Duplicate(kb_json_get(head, "not_tried"), true) : NULL;
    }
    b->fault_of = status == KB_STATUS_FAIL ? kb_fault_word(kb_json_text(head, "fault_of", NULL)) : NULL;
    kb_build_rung(s, b, (enum kb_rung)rung, (enum kb_status)status,
                  kb_json_number(head, "ms", (double)(kb_now_us() - b->rung_us) / 1000.0),
                  kb_json_text(head, "reason", NULL));
}

// Which cases would let pass what computes nothing: a fact of the bench, so it belongs to no version.
static void weak_event(struct kb_session *s, const cJSON *head)
{
    static const char *const keys[] = {"case", "label", "weak", "weak_reason"};
    cJSON *event = kb_event("weak"), *list = cJSON_AddArrayToObject(event, "cases");
    const cJSON *from;
    cJSON_ArrayForEach (from, kb_json_get(head, "cases")) {
        cJSON *item = cJSON_CreateObject();
        for (size_t i = 0; i < KB_COUNT(keys); i++)
            if (kb_json_get(from, keys[i]))
                kb_json_set(item, keys[i], cJSON_Duplicate(kb_json_get(from, keys[i]), true));
        cJSON_AddItemToArray(list, item);
    }
    kb_emit(s, event);
}

static void reference_frame(struct kb_run_worker *r, const cJSON *head)
{
    free(r->in_reference);
    bool runs = !strcmp(kb_json_text(head, "state", ""), "running");
    r->in_reference = runs ? kb_cleaned(kb_json_text(head, "label", "?")) : NULL;
}

static void take_frame(struct kb_session *s, struct kb_frame *frame)
{
    struct kb_run_worker *r = &s->run;
    const char *type = kb_frame_type(frame);
    int64_t job = kb_frame_job(frame);
    if (!strcmp(type, "hello")) {
        hello(s, frame->head);
    } else if (!strcmp(type, "log")) {
        log_frame(s, frame);
    } else if (!strcmp(type, "reference") && job && (job == r->lane.job || job == r->idle_job)) {
        reference_frame(r, frame->head);
    } else if (job && job == r->idle_job) {
        if (!strcmp(type, "done"))
            r->idle_job = 0;
    } else if (!job || job != r->lane.job) {
        return;
    } else if (!strcmp(type, "done")) {
        done_frame(s, frame->head);
    } else if (!strcmp(type, "refused") && r->lane.build) {
        r->lane.build->set_up_refused = true;
    } else if (!strcmp(type, "permission")) {
        kb_permission_asked(s, frame->head);
    } else if (!strcmp(type, "reported")) {
        kb_report_frame(s, frame->head);
    } else if (!strcmp(type, "exported")) {
        kb_export_text(s, frame->blob);
    } else if (!strcmp(type, "rung")) {
        rung_frame(s, frame->head);
    } else if (!strcmp(type, "trace")) {
        kb_tracing_frame(s, frame);
    } else if (!strcmp(type, "prepared")) {
        weak_event(s, frame->head);
    } else if (!strcmp(type, "roofs")) {
        cJSON *event = cJSON_Duplicate(frame->head, true);
        kb_strip_frame(event);
        kb_emit(s, event);
    } else if (r->lane.build && !r->lane.build->dead && !r->lane.cancelled && r->request != KB_REQUEST_LOAD) {
        kb_verdict_event(s, r->lane.build, frame);
    }
}

// Ends

// Why a request ended with its worker, and by whose fault. Owned.
static char *last_words(const struct kb_run_worker *r, const struct kb_peer_event *event, const char **fault)
{
    bool silent = event->asked && kb_starts(event->text, "no answer");
    *fault = NULL;
    if (r->in_reference) {
        *fault = silent ? "reference" : "worker";
        return silent ? kb_format("%s: the reference may never end (case %s); its worker was killed", event->text,
                                  r->in_reference)
                      : kb_format("%s, while the reference of case %s ran", event->text, r->in_reference);
    }
    if (r->request == KB_REQUEST_PREPARE)
        *fault = "worker";
    return silent && r->request != KB_REQUEST_PREPARE
               ? kb_format("%s: the kernel may never end; its worker was killed", event->text)
               : kb_strdup(event->text);
}

// Inputs that cost a worker three times, or whose reference never ends, are not made again under this contract.
static void died_at_prepare(struct kb_session *s, const char *reason, const char *fault)
{
    struct kb_run_worker *r = &s->run;
    bool never_ends = !strcmp(fault, "reference");
    if (!never_ends && r->deaths[KB_REQUEST_PREPARE] < MOST_FAILURES) {
        kb_status_line(s, "warning", NULL, "the run worker died while it prepared the inputs, and is started again: %s",
                       reason);
        end_of_request(s, KB_STATUS_SKIP, reason, NULL);
        return;
    }
    char *text = never_ends ? kb_strdup(reason)
                            : kb_format("the run worker died %d times while it prepared the inputs: %s",
                                        r->deaths[KB_REQUEST_PREPARE], reason);
    r->refused = r->preparing;
    end_of_request(s, KB_STATUS_FAIL, text, fault);
    free(text);
}

// Another one is started whenever a worker dies: not for ever, where nothing gets done in between.
static void count_death(struct kb_session *s, const struct kb_peer_event *event)
{
    struct kb_run_worker *r = &s->run;
    bool unasked = r->request == KB_REQUEST_NONE;
    if (r->lane.cancelled || (unasked && event->asked))
        return;
    if (unasked && kb_now_us() - r->ready_us > STEADY_MS * 1000LL)
        r->deaths[KB_REQUEST_NONE] = 0;
    int deaths = ++r->deaths[r->request];
    if (deaths < MOST_FAILURES)
        return;
    if (r->request == KB_REQUEST_IDLE)
        kb_status_line(s, "warning", NULL, "no inputs are made ahead any more: the run worker died %d times at it: %s",
                       deaths, event->text);
    if (unasked) {
        char *what =
            kb_format("the run worker ended %d times without being asked for anything: %s", deaths, event->text);
        absent(s, "internal", what, "kbench-tui doctor says what is missing; then restart the workers");
        free(what);
    }
}

static void worker_ended(struct kb_session *s, const struct kb_peer_event *event)
{
    struct kb_run_worker *r = &s->run;
    bool was_ready = r->lane.ready;
    if (was_ready)
        count_death(s, event);
    kb_emit_worker(s, KB_WORKER_RUN, kb_lane_end(event), r->lane.peer, event->text);
    if (event->abandoned)
        kb_status_line(s, "error", "restart what holds the GPU, or wait until the process is gone", "%s", event->text);
    kb_peer_free(r->lane.peer);
    r->lane.peer = NULL;
    if (r->request != KB_REQUEST_NONE) {
        const char *fault;
        char *reason = last_words(r, event, &fault);
        if (r->request == KB_REQUEST_PREPARE)
            died_at_prepare(s, reason, fault);
        else
            end_of_request(s, KB_STATUS_FAIL, reason, fault);
        free(reason);
    }
    kb_lane_forget(s, &s->run.lane, &lane_kind);
    if (!was_ready && !r->lane.absent && !r->retry_us && ++r->lane.failures >= MOST_FAILURES)
        absent(s, "internal", event->text, "kbench-tui doctor says what is missing");
}

static const struct kb_lane_kind lane_kind = {
    .role = KB_WORKER_RUN,
    .source = "run",
    .all = take_frame,
    .gone = worker_ended,
    .forget = forget_worker,
};

static void drain_spare(struct kb_session *s)
{
    // Its hello waits in the queue until it is needed; only its end matters here.
    if (s->run.spare)
        kb_peer_step(s->run.spare);
    if (s->run.spare && kb_peer_ending(s->run.spare)) {
        kb_retire(s, s->run.spare, KB_WORKER_RUN, "the spare worker ended", true);
        s->run.spare = NULL;
        s->spare_safe = false;
    }
}

void kb_run_step(struct kb_session *s)
{
    struct kb_run_worker *r = &s->run;
    bool due = !r->lane.peer && !r->lane.absent && !s->ending && !kb_run_worker_dying(s);
    if (due && (!r->retry_us || kb_now_us() >= r->retry_us)) {
        r->retry_us = 0;
        start_worker(s);
    }
    drain_spare(s);
    if (s->device && !s->arch[0])
        choose_arch(s);
    kb_lane_step(s, &r->lane, &lane_kind);
    if (r->lane.peer && r->lane.ready)
        kb_run_assign(s);
}

int kb_run_wait_ms(const struct kb_session *s)
{
    const struct kb_run_worker *r = &s->run;
    int wait = kb_lane_wait_ms(&r->lane);
    if (!r->lane.peer && r->retry_us) {
        int64_t left = (r->retry_us - kb_now_us()) / 1000;
        wait = kb_sooner(wait, left > 0 ? (int)left + 1 : 0);
    }
    return s->lock_waiting ? kb_sooner(wait, LOCK_MS) : wait;
}

void kb_run_drop(struct kb_session *s, const struct kb_build *b)
{
    struct kb_run_worker *r = &s->run;
    if (!r->lane.peer || r->request == KB_REQUEST_NONE || r->lane.build != b || r->lane.cancelled)
        return;
    kb_lane_cancel(&r->lane);
}

void kb_run_forgive(struct kb_session *s)
{
    s->run.refused = 0;
    memset(s->run.deaths, 0, sizeof s->run.deaths);
}

void kb_run_restart(struct kb_session *s, const char *why)
{
    struct kb_run_worker *r = &s->run;
    kb_lane_retire(s, &r->lane, &lane_kind, why, false);
    if (r->spare)
        kb_retire(s, r->spare, KB_WORKER_RUN, why, false);
    r->spare = NULL;
    if (r->request == KB_REQUEST_TRACE)
        kb_tracing_end(s, false, why);
    struct kb_build *b = kb_build_ref(r->lane.build);
    kb_lane_forgive(&r->lane);
    kb_run_forgive(s);
    s->had_device = false;
    kb_lane_forget(s, &s->run.lane, &lane_kind);
    if (b && !b->dead && b->stage == KB_STAGE_LADDER)
        b->next = b->next > KB_RUNG_RUN ? KB_RUNG_RUN : b->next; // its rung starts over in the new worker
    kb_build_unref(b);
    s->again = true;
}

void kb_run_free(struct kb_session *s)
{
    kb_peer_free(s->run.spare);
    s->run.spare = NULL;
    kb_lane_forget(s, &s->run.lane, &lane_kind);
    kb_lane_free(&s->run.lane);
    free(s->run.loaded);
    free(s->run.prepare_error);
}
