// The profile lane: PC sampling and counters in a worker of its own, under the same GPU token as the run lane. It works
// only while the run worker has nothing to do, and a save takes the GPU from it at once.
#include "loop/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BUDGET_MS = 60, HOLD_WITHIN_MS = 15 };

struct kb_profile_times kb_profile_times = {400, 1500, 10000};

static void set(char **slot, const char *value)
{
    char *copy = kb_strdup(value);
    free(*slot);
    *slot = copy;
}

static int64_t quiet_ms(const struct kb_session *s)
{
    return s->options.once ? INT64_MAX / 2000 : (kb_now_us() - s->last_save_us) / 1000;
}

// What is due

static bool timed(const struct kb_build *b)
{
    return !b->settled_timing && (b->rungs[KB_RUNG_TIME] == KB_STATUS_PASS || b->rungs[KB_RUNG_TIME] == KB_STATUS_NA);
}

enum kb_profile_request kb_profile_due(const struct kb_session *s, const struct kb_build *b)
{
    bool never = kb_on_cpu(s) || kb_no_device(s) || s->options.no_profile;
    if (never || !timed(b) || !b->blobs.ptx_size)
        return KB_PROFILE_NONE;
    if (kb_late_due(b, KB_RUNG_SECTIONS))
        return KB_PROFILE_SECTIONS;
    if (kb_late_due(b, KB_RUNG_COUNTERS) && quiet_ms(s) >= kb_profile_times.counters_ms)
        return b->counted_bytes ? KB_PROFILE_REST : KB_PROFILE_BYTES;
    return KB_PROFILE_NONE;
}

bool kb_profile_has_time(const struct kb_session *s)
{
    return quiet_ms(s) >= kb_profile_times.others_ms;
}

static bool release_due(const struct kb_session *s)
{
    return s->profile.held && s->profile.lane.ready && quiet_ms(s) >= kb_profile_times.release_ms;
}

bool kb_profile_wants(const struct kb_session *s)
{
    bool starting = s->profile.lane.peer && !s->profile.lane.ready;
    return !starting && kb_order(s).profile >= 0;
}

int kb_profile_wait_ms(const struct kb_session *s)
{
    const struct kb_profile_worker *p = &s->profile;
    int wait = kb_lane_wait_ms(&p->lane);
    int marks[] = {kb_profile_times.counters_ms, kb_profile_times.others_ms, kb_profile_times.release_ms};
    bool open = p->held;
    for (int i = 0; i < s->slot_count; i++)
        open = open || kb_late_due(s->slots[i].current, KB_RUNG_SECTIONS) ||
               kb_late_due(s->slots[i].current, KB_RUNG_COUNTERS);
    for (size_t i = 0; open && i < KB_COUNT(marks); i++)
        if (quiet_ms(s) < marks[i])
            wait = kb_sooner(wait, (int)(marks[i] - quiet_ms(s)) + 1);
    return wait;
}

static const struct kb_lane_kind lane_kind; // below

// Ends

static void forget_worker(struct kb_session *s)
{
    struct kb_profile_worker *p = &s->profile;
    p->request = KB_PROFILE_NONE;
    p->held = p->hold_refused = false;
    p->prepared = 0;
    set(&p->loaded, NULL);
    set(&p->prepare_error, NULL);
    if (s->run.request == KB_REQUEST_NONE)
        kb_gpu_lock_release(&s->lock);
}

static enum kb_rung rung_of(enum kb_profile_request kind)
{
    return kind == KB_PROFILE_SECTIONS ? KB_RUNG_SECTIONS : KB_RUNG_COUNTERS;
}

// What keeps profiling from working keeps it from working for every version: said with each, asked once.
static void refuse_all(struct kb_session *s, enum kb_rung rung, const char *reason)
{
    for (int i = 0; i < s->slot_count; i++)
        if (kb_late_due(s->slots[i].current, rung))
            kb_late_na(s, s->slots[i].current, rung, reason);
}

static void absent(struct kb_session *s, const char *reason)
{
    refuse_all(s, KB_RUNG_SECTIONS, reason);
    refuse_all(s, KB_RUNG_COUNTERS, reason);
}

static void end_of_measure(struct kb_session *s, struct kb_build *b, enum kb_profile_request kind,
                           enum kb_status status, const char *reason)
{
    if (status == KB_STATUS_PASS && kind == KB_PROFILE_BYTES) {
        b->counted_bytes = true; // the rung goes on with the rest
        b->rungs[KB_RUNG_COUNTERS] = KB_STATUS_NONE;
        return;
    }
    if (kind == KB_PROFILE_REST && status == KB_STATUS_NA && b->counted_bytes) {
        char *text = kb_format("bytes only: %s", reason ? reason : "the rest was refused");
        kb_late_end(s, b, KB_RUNG_COUNTERS, KB_STATUS_PASS, text);
        free(text);
        return;
    }
    kb_late_end(s, b, rung_of(kind), status, reason);
}

static void end_of_request(struct kb_session *s, enum kb_status status, const char *reason)
{
    struct kb_profile_worker *p = &s->profile;
    struct kb_build *b = kb_lane_close(&p->lane);
    enum kb_profile_request kind = p->request;
    p->request = KB_PROFILE_NONE;
    if (kind == KB_PROFILE_PREPARE && status != KB_STATUS_PASS && status != KB_STATUS_SKIP) {
        set(&p->prepare_error, reason ? reason : "the inputs could not be made");
    } else if (kind == KB_PROFILE_PREPARE && status == KB_STATUS_SKIP) {
        p->prepared = 0;
    } else if (kind == KB_PROFILE_CHECK && status == KB_STATUS_PASS) {
        set(&p->loaded, b->key);
    } else if (kind == KB_PROFILE_CHECK && b && !b->dead && status != KB_STATUS_SKIP) {
        kb_late_end(s, b, KB_RUNG_SECTIONS, KB_STATUS_NA, reason);
        kb_late_end(s, b, KB_RUNG_COUNTERS, KB_STATUS_NA, reason);
    } else if (b && !b->dead && kind >= KB_PROFILE_SECTIONS && kind <= KB_PROFILE_REST) {
        end_of_measure(s, b, kind, status, reason);
    }
    if (kind == KB_PROFILE_HOLD)
        p->hold_refused = status != KB_STATUS_PASS; // the next `sections` says why, and may find it free again
    else if (kind == KB_PROFILE_SECTIONS)
        p->hold_refused = false;
    if (status == KB_STATUS_PASS)
        p->lane.failures = 0;
    if (status == KB_STATUS_PASS && kind >= KB_PROFILE_SECTIONS)
        p->retry = false;
    kb_build_unref(b);
    if (s->run.request == KB_REQUEST_NONE)
        kb_gpu_lock_release(&s->lock);
    s->again = true;
}

// Frames

static void hello(struct kb_session *s, const cJSON *head)
{
    kb_emit_libs(s, KB_WORKER_PROFILE, kb_json_get(head, "libs"));
}

static void done_frame(struct kb_session *s, const cJSON *head)
{
    struct kb_profile_worker *p = &s->profile;
    const char *status = kb_json_text(head, "status", "fail"), *remedy = kb_json_text(head, "remedy", NULL);
    enum kb_profile_request kind = p->request;
    char *text = kb_format("%s%s%s", kb_json_text(head, "reason", strcmp(status, "pass") ? "no reason was given" : ""),
                           remedy ? "; " : "", remedy ? remedy : "");
    char *reason = kb_cleaned(text);
    bool poisoned = kb_json_bool(head, "poisoned", false), cancelled = !strcmp(status, "cancelled");
    p->held = kb_json_bool(head, "held",
                           kind == KB_PROFILE_SECTIONS || kind == KB_PROFILE_HOLD ? !strcmp(status, "pass") || p->held
                           : kind >= KB_PROFILE_BYTES                             ? false
                                                                                  : p->held);
    if (remedy && !strcmp(status, "na") && kind >= KB_PROFILE_SECTIONS && kind <= KB_PROFILE_REST)
        set(&p->refused[kind != KB_PROFILE_SECTIONS], reason);
    if (poisoned)
        kb_lane_retire(s, &p->lane, &lane_kind, reason, false);
    end_of_request(s,
                   cancelled                 ? KB_STATUS_SKIP
                   : !strcmp(status, "pass") ? KB_STATUS_PASS
                                             : KB_STATUS_NA,
                   cancelled ? "a newer save came first"
                   : *reason ? reason
                             : NULL);
    if (poisoned)
        kb_lane_forget(s, &p->lane, &lane_kind);
    free(reason);
    free(text);
}

static void take_frame(struct kb_session *s, struct kb_frame *frame)
{
    struct kb_profile_worker *p = &s->profile;
    const char *type = kb_frame_type(frame);
    struct kb_build *b = p->lane.build;
    if (!strcmp(type, "done")) {
        done_frame(s, frame->head);
    } else if (b && !b->dead && (!strcmp(type, "sections") || !strcmp(type, "counters"))) {
        kb_late_event(s, b, frame->head);
        if (!strcmp(type, "sections") && frame->blob_size) {
            free(b->samples);
            b->samples = kb_strndup(frame->blob, frame->blob_size);
            b->samples_stored = false;
        }
    }
}

static bool worker_ended(struct kb_session *s, const struct kb_peer_event *event)
{
    struct kb_profile_worker *p = &s->profile;
    bool in_vain = p->request == KB_PROFILE_PREPARE || p->request == KB_PROFILE_CHECK; // it would be asked the same
    if (p->request != KB_PROFILE_NONE)
        end_of_request(s, p->lane.cancelled ? KB_STATUS_SKIP : KB_STATUS_NA, event->text);
    return in_vain;
}

// Requests

static cJSON *request(struct kb_session *s, enum kb_profile_request kind, const char *type, struct kb_build *b,
                      int deadline_ms)
{
    struct kb_profile_worker *p = &s->profile;
    p->request = kind;
    return kb_lane_request(s, &p->lane, type, b, deadline_ms);
}

static void send_prepare(struct kb_session *s)
{
    struct kb_text blob = {0};
    cJSON *head = request(s, KB_PROFILE_PREPARE, "prepare", NULL, kb_rungs[KB_RUNG_VERIFY].deadline_ms);
    kb_prepare_fields(s, head, 1, false, &blob);
    kb_peer_send(s->profile.lane.peer, head, blob.data, blob.size);
    kb_text_free(&blob);
    s->profile.prepared = s->bench_generation;
    set(&s->profile.loaded, NULL);
    set(&s->profile.prepare_error, NULL);
}

static void send_measure(struct kb_session *s, struct kb_build *b, enum kb_profile_request kind)
{
    enum kb_rung rung = rung_of(kind);
    if (kind != KB_PROFILE_REST) {
        kb_build_rung(s, b, rung, KB_STATUS_RUNNING, NAN, NULL);
    }
    cJSON *head = request(s, kind, kb_rungs[rung].name, b, kb_rungs[rung].deadline_ms);
    kb_json_set_bool(head, "retry", s->profile.retry);
    if (kind == KB_PROFILE_SECTIONS) {
        const struct kb_model_version *v = kb_model_version(&s->model, b->variant, b->version);
        double us = v ? v->cold_us : NAN;
        kb_json_set(head, "lines", kb_section_marks(b));
        kb_json_measured(head, "time_us", us, isfinite(us) ? NULL : "it was not timed");
        kb_json_set_number(head, "budget_ms", BUDGET_MS);
    } else {
        kb_json_set_text(head, "stage", kind == KB_PROFILE_BYTES ? "bytes" : "rest");
    }
    kb_peer_send(s->profile.lane.peer, head, NULL, 0);
}

static void serve(struct kb_session *s, struct kb_build *b, enum kb_profile_request kind)
{
    struct kb_profile_worker *p = &s->profile;
    if (p->prepared != s->bench_generation) {
        send_prepare(s);
    } else if (!p->loaded || strcmp(p->loaded, b->key)) {
        struct kb_text blob = {0};
        cJSON *head = request(s, KB_PROFILE_CHECK, "check", b, kb_rungs[KB_RUNG_CHECK].deadline_ms);
        kb_check_fields(head, b, &blob);
        kb_peer_send(p->lane.peer, head, blob.data, blob.size);
        kb_text_free(&blob);
    } else {
        send_measure(s, b, kind);
    }
}

// Answers what needs no worker. True if it did.
static bool decided(struct kb_session *s, struct kb_build *b, enum kb_profile_request kind)
{
    struct kb_profile_worker *p = &s->profile;
    enum kb_rung rung = rung_of(kind);
    const char *refused = p->refused[rung == KB_RUNG_COUNTERS];
    const char *why =
        p->lane.absent ? p->lane.absent
        : !kb_may_profile(s)
            ? "no second context on this GPU: exclusive mode, MPS, or less than a quarter of its memory free"
        : p->prepare_error && p->prepared == s->bench_generation ? p->prepare_error
                                                                 : refused;
    if (!why)
        return false;
    if (kind == KB_PROFILE_REST)
        end_of_measure(s, b, kind, KB_STATUS_NA, why);
    else
        kb_late_na(s, b, rung, why);
    s->again = true;
    return true;
}

static void command(struct kb_session *s, char *argv[KB_LANE_ARGUMENTS])
{
    bool any = strncmp(s->device_option, "cuda", 4) != 0;
    argv[1] = "profile";
    argv[2] = "--device";
    argv[3] = any ? "cuda" : s->device_option;
}

static void cut(struct kb_session *s, const char *why)
{
    if (s->profile.request != KB_PROFILE_NONE)
        end_of_request(s, KB_STATUS_SKIP, why);
}

static const struct kb_lane_kind lane_kind = {
    .role = KB_WORKER_PROFILE,
    .source = "profile",
    .remedy = "; ",
    .hello_ms = 60000,
    .command = command,
    .hello = hello,
    .frame = take_frame,
    .ended = worker_ended,
    .cut = cut,
    .forget = forget_worker,
    .absent = absent,
};

// Taking the sampling hardware costs some 100 ms of the host's time, and the compile of a save as many: side by side,
// sections follow the verdict at once. Launches nothing, so the run worker may work beside it, except for timing: where
// the worker was still busy when the compile began, a hold would outlast it and the verdict wait.
static bool hold_due(const struct kb_session *s)
{
    const struct kb_profile_worker *p = &s->profile;
    int focus = kb_focus_index(s);
    const struct kb_build *b = focus >= 0 ? s->slots[focus].current : NULL;
    return p->lane.peer && p->lane.ready && !kb_peer_ending(p->lane.peer) && !p->held && !p->hold_refused &&
           !p->refused[0] && p->request == KB_PROFILE_NONE && kb_may_profile(s) && b && !b->dead &&
           b->stage == KB_STAGE_COMPILE && kb_now_us() - b->started_us < HOLD_WITHIN_MS * 1000;
}

static void assign(struct kb_session *s)
{
    struct kb_profile_worker *p = &s->profile;
    if (!s->ending && hold_due(s)) {
        kb_peer_send(p->lane.peer, request(s, KB_PROFILE_HOLD, "hold", NULL, kb_rungs[KB_RUNG_SECTIONS].deadline_ms),
                     NULL, 0);
        return;
    }
    struct kb_schedule order = kb_order(s);
    if (s->ending || p->request != KB_PROFILE_NONE || !order.profile_may_work)
        return;
    struct kb_build *b = kb_build_at(s, order.profile);
    enum kb_profile_request kind = b ? kb_profile_due(s, b) : KB_PROFILE_NONE;
    if (b && decided(s, b, kind))
        return;
    if (b ? !kb_lane_start(s, &p->lane, &lane_kind) : !p->lane.peer || !p->lane.ready || kb_peer_ending(p->lane.peer))
        return;
    if (b && kb_take_gpu(s)) {
        serve(s, b, kind);
    } else if (!b && release_due(s)) {
        p->held = false;
        kb_peer_send(p->lane.peer,
                     request(s, KB_PROFILE_RELEASE, "release", NULL, kb_rungs[KB_RUNG_SECTIONS].deadline_ms), NULL, 0);
    }
}

void kb_profile_step(struct kb_session *s)
{
    kb_lane_step(s, &s->profile.lane, &lane_kind);
    assign(s);
}

void kb_profile_yield(struct kb_session *s)
{
    struct kb_profile_worker *p = &s->profile;
    if (!p->lane.peer || p->request == KB_PROFILE_NONE || p->request == KB_PROFILE_HOLD || p->lane.cancelled)
        return; // nothing shortens a hold, which is over before its save is compiled
    kb_lane_cancel(&p->lane);
}

void kb_profile_restart(struct kb_session *s, const char *why)
{
    kb_lane_restart(s, &s->profile.lane, &lane_kind, why);
    for (int i = 0; i < 2; i++)
        set(&s->profile.refused[i], NULL);
}

void kb_profile_free(struct kb_session *s)
{
    struct kb_profile_worker *p = &s->profile;
    kb_lane_free(&p->lane);
    char *texts[] = {p->refused[0], p->refused[1], p->prepare_error, p->loaded};
    for (size_t i = 0; i < KB_COUNT(texts); i++)
        free(texts[i]);
}
