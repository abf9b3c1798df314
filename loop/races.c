// The races lane: small cases of a version that passed, on the CPU device with its full check, in a run worker of its
// own at the lowest priority. It touches no GPU, so it needs no token and may work beside the others; a save goes
// first all the same, and `--once` has it wait for the timing of all variants. Of a version that failed where it ran,
// the failing case goes first: what is found there is why.
#include "loop/findings.h"
#include "loop/parts.h"
#include "loop/proof.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Of lanes, for all cases together: one to five seconds of a core under the full check. No time, so that which cases
// are tried depends neither on the machine nor on its load.
static const double instructions = 300e6;

static void set(char **slot, const char *value)
{
    char *copy = kb_strdup(value);
    free(*slot);
    *slot = copy;
}

// What is due

bool kb_races_due(const struct kb_build *b)
{
    return kb_late_due(b, KB_RUNG_RACES) && (kb_build_passed(b) || kb_build_failed(b)) && b->blobs.ptx_size;
}

static enum kb_rung failed_rung(const struct kb_build *b)
{
    int rung = KB_RUNG_CHECK;
    while (rung < KB_RUNG_LATE && b->rungs[rung] != KB_STATUS_FAIL)
        rung++;
    return (enum kb_rung)rung;
}

// What the CPU device found at this rung: what fails a version goes before warnings. NULL: nothing.
static const cJSON *finding_of(const struct kb_build *b, enum kb_rung rung)
{
    const cJSON *event, *item, *warning = NULL;
    cJSON_ArrayForEach (event, b->results) {
        if (strcmp(kb_json_text(event, "type", ""), "findings") ||
            strcmp(kb_json_text(event, "rung", ""), kb_rungs[rung].name))
            continue;
        cJSON_ArrayForEach (item, kb_json_get(event, "findings")) {
            if (kb_json_bool(item, "fails", true))
                return item;
            warning = warning || kb_json_get(item, "accepted") ? warning : item;
        }
    }
    return warning;
}

// Not where the rung that failed knew the line by itself, or failed by a fault that is not the version's.
bool kb_races_look(const struct kb_session *s, const struct kb_build *b)
{
    enum kb_rung rung = failed_rung(b);
    if (rung <= KB_RUNG_CHECK || rung >= KB_RUNG_LATE || b->fault_of || s->options.no_profile || !b->blobs.ptx_size ||
        (kb_on_cpu(s) && s->check && !strcmp(s->check, "full")))
        return false;
    return !kb_json_bool(finding_of(b, rung), "fails", false);
}

void kb_races_begin(struct kb_session *s, struct kb_build *b)
{
    const char *why = kb_no_device(s) ? kb_json_text(s->device, "reason", "there is no device")
                      : kb_on_cpu(s) && s->check && !strcmp(s->check, "full") ? KB_WATCHED_ALREADY
                      : !b->blobs.ptx_size ? "there is no PTX for the CPU device to run"
                                           : NULL;
    if (why)
        kb_late_na(s, b, KB_RUNG_RACES, why);
}

// Ends

// The failed rung's reason as it was told first; its event is taken out of the results, since another follows.
static char *reason_told(struct kb_build *b, enum kb_rung rung, double *ms)
{
    char *reason = kb_strdup("failed");
    for (int i = cJSON_GetArraySize(b->results) - 1; i >= 0; i--) {
        const cJSON *event = cJSON_GetArrayItem(b->results, i);
        if (strcmp(kb_json_text(event, "type", ""), "rung") ||
            strcmp(kb_json_text(event, "rung", ""), kb_rungs[rung].name))
            continue;
        free(reason);
        reason = kb_strdup(kb_json_text(event, "reason", "failed"));
        *ms = kb_json_number(event, "ms", NAN);
        cJSON_DeleteItemFromArray(b->results, i);
        break;
    }
    return reason;
}

void kb_races_tell_cause(struct kb_session *s, struct kb_build *b)
{
    enum kb_rung rung = failed_rung(b);
    double ms = NAN;
    struct kb_ev_finding *found =
        rung < KB_RUNG_LATE ? kb_record_new(&kb_record_finding, finding_of(b, KB_RUNG_RACES)) : NULL;
    if (!found)
        return;
    char *place = kb_finding_place(found);
    char *told = reason_told(b, rung, &ms);
    char *reason = kb_format("%s%s: %s; %s", found->fails ? "" : "perhaps ", place, found->text ?: "", told);
    kb_build_rung(s, b, rung, KB_STATUS_FAIL, ms, reason);
    kb_record_delete(&kb_record_finding, found);
    free(place);
    free(told);
    free(reason);
}

static const struct kb_lane_kind lane_kind; // below

static void forget_worker(struct kb_session *s)
{
    struct kb_races_worker *r = &s->races;
    r->request = KB_RACES_NONE;
    r->prepared = 0;
    set(&r->loaded, NULL);
    set(&r->prepare_error, NULL);
}

static void end_of_request(struct kb_session *s, enum kb_status status, const char *reason)
{
    struct kb_races_worker *r = &s->races;
    struct kb_build *b = kb_lane_close(&r->lane);
    enum kb_races_request kind = r->request;
    r->request = KB_RACES_NONE;
    if (kind == KB_RACES_PREPARE && status == KB_STATUS_SKIP)
        r->prepared = 0;
    else if (kind == KB_RACES_PREPARE && status != KB_STATUS_PASS)
        set(&r->prepare_error, reason ? reason : "the inputs could not be made");
    else if (kind == KB_RACES_CHECK && status == KB_STATUS_PASS)
        set(&r->loaded, b->key);
    else if (b && !b->dead && kind == KB_RACES_CHECK && status != KB_STATUS_SKIP)
        kb_late_end(s, b, KB_RUNG_RACES, KB_STATUS_NA, reason); // this device's refusal, not the version's fault
    else if (b && !b->dead && kind == KB_RACES_WATCH)
        kb_late_end(s, b, KB_RUNG_RACES, status, reason);
    if (status == KB_STATUS_PASS)
        r->lane.failures = 0;
    kb_build_unref(b);
    s->again = true;
}

// Frames

static enum kb_status outcome(const char *text)
{
    int status = kb_status_parse(text);
    return !strcmp(text, "cancelled")                             ? KB_STATUS_SKIP
           : status == KB_STATUS_PASS || status == KB_STATUS_FAIL ? (enum kb_status)status
                                                                  : KB_STATUS_NA;
}

static void done_frame(struct kb_session *s, const cJSON *head)
{
    struct kb_races_worker *r = &s->races;
    enum kb_status status = outcome(kb_json_text(head, "status", "na"));
    const char *text = kb_json_text(head, "reason", status == KB_STATUS_PASS ? NULL : "no reason was given");
    char *reason = text ? kb_cleaned(text) : NULL;
    bool poisoned = kb_json_bool(head, "poisoned", false);
    if (poisoned)
        kb_lane_retire(s, &r->lane, &lane_kind, "a fault ended its launch", false);
    end_of_request(s, status, status == KB_STATUS_SKIP ? "a newer save came first" : reason);
    if (poisoned)
        kb_lane_forget(s, &r->lane, &lane_kind);
    free(reason);
}

static void take_frame(struct kb_session *s, struct kb_frame *frame)
{
    struct kb_races_worker *r = &s->races;
    const char *type = kb_frame_type(frame);
    if (!strcmp(type, "done"))
        done_frame(s, frame->head);
    else if (!strcmp(type, "watched"))
        r->watched = (int)kb_json_int(frame->head, "cases", 0);
    else if (!strcmp(type, "findings") && r->lane.build && !r->lane.build->dead && !r->lane.cancelled)
        kb_verdict_event(s, r->lane.build, frame);
}

// It was slow rather than wrong: what was watched before counts.
static bool worker_ended(struct kb_session *s, const struct kb_peer_event *event)
{
    struct kb_races_worker *r = &s->races;
    bool in_vain = r->request == KB_RACES_PREPARE; // it would be asked the same again
    if (r->lane.cancelled) {
        end_of_request(s, KB_STATUS_SKIP, "a newer save came first");
    } else if (r->request == KB_RACES_WATCH && event->asked) {
        char *reason = r->watched ? kb_format("%d of %d cases: %s", r->watched, s->bench->case_count, event->text)
                                  : kb_format("too slow on a CPU: %s", event->text);
        end_of_request(s, r->watched ? KB_STATUS_PASS : KB_STATUS_NA, reason);
        free(reason);
    } else if (r->request != KB_RACES_NONE) {
        end_of_request(s, KB_STATUS_NA, event->text);
    }
    return in_vain;
}

// Requests

static cJSON *request(struct kb_session *s, enum kb_races_request kind, const char *type, struct kb_build *b,
                      int deadline_ms)
{
    struct kb_races_worker *r = &s->races;
    r->request = kind;
    r->watched = 0;
    return kb_lane_request(s, &r->lane, type, b, deadline_ms);
}

// Without `failure` nothing is known of its inputs: then its place in the order is that of its size.
static void add_failing_case(const struct kb_session *s, const struct kb_build *b, cJSON *head)
{
    const cJSON *failure;
    kb_json_set_number(head, "case", kb_failing_case(s, b, failed_rung(b), &failure));
    kb_json_set(head, "failure", failure ? cJSON_Duplicate(failure, true) : cJSON_CreateNull());
}

static void serve(struct kb_session *s, struct kb_build *b)
{
    struct kb_races_worker *r = &s->races;
    struct kb_text blob = {0};
    cJSON *head;
    if (r->prepared != s->bench_generation) {
        head = request(s, KB_RACES_PREPARE, "prepare", NULL, kb_rungs[KB_RUNG_VERIFY].deadline_ms);
        kb_prepare_fields(s, head, 1, false, &blob);
        kb_json_set_bool(head, "lazy", true); // large cases are left out: their inputs are not even made
        r->prepared = s->bench_generation;
        set(&r->loaded, NULL);
        set(&r->prepare_error, NULL);
    } else if (!r->loaded || strcmp(r->loaded, b->key)) {
        head = request(s, KB_RACES_CHECK, "check", b, kb_rungs[KB_RUNG_CHECK].deadline_ms);
        kb_check_fields(head, b, &blob);
    } else {
        kb_build_rung(s, b, KB_RUNG_RACES, KB_STATUS_RUNNING, NAN, NULL);
        head = request(s, KB_RACES_WATCH, "races", b, kb_rungs[KB_RUNG_RACES].deadline_ms);
        kb_json_set_number(head, "instructions", instructions);
        if (kb_build_failed(b))
            add_failing_case(s, b, head);
    }
    kb_peer_send(r->lane.peer, head, blob.data, blob.size);
    kb_text_free(&blob);
}

static void command(struct kb_session *s, char *argv[KB_LANE_ARGUMENTS])
{
    static char *const fixed[] = {"run", "--device", "cpu", "--check", "full"};
    memcpy(argv + 1, fixed, sizeof fixed);
    int n = 1 + (int)KB_COUNT(fixed);
    if (!s->options.once) // where it comes last anyway, and somebody waits for it
        argv[n++] = "--nice";
    if (s->like) {
        argv[n++] = "--like";
        argv[n++] = s->like;
    }
}

static void started(struct kb_peer *peer)
{
    kb_peer_cores(peer, (int)sysconf(_SC_NPROCESSORS_ONLN));
}

static void cut(struct kb_session *s, const char *why)
{
    if (s->races.request != KB_RACES_NONE)
        end_of_request(s, KB_STATUS_SKIP, why);
}

static const struct kb_lane_kind lane_kind = {
    .role = KB_WORKER_RACES,
    .source = "races",
    .expendable = true,
    .hello_ms = 60000,
    .command = command,
    .started = started,
    .frame = take_frame,
    .ended = worker_ended,
    .cut = cut,
    .forget = forget_worker,
};

// Content that nobody looks at any more is not worth the time.
static void drop_outdated(struct kb_session *s)
{
    struct kb_races_worker *r = &s->races;
    struct kb_build *b = r->lane.build;
    const struct kb_slot *slot = b ? kb_slot_of(s, b) : NULL;
    if (!r->lane.peer || !b || r->lane.cancelled || (!b->dead && slot && b == slot->current && b->finished))
        return;
    kb_lane_cancel(&r->lane);
}

static void assign(struct kb_session *s)
{
    struct kb_races_worker *r = &s->races;
    drop_outdated(s);
    struct kb_build *b = s->ending || r->request != KB_RACES_NONE ? NULL : kb_build_at(s, kb_order(s).races);
    if (!b)
        return;
    const char *why = r->lane.absent ? r->lane.absent : r->prepared == s->bench_generation ? r->prepare_error : NULL;
    if (why) {
        kb_late_na(s, b, KB_RUNG_RACES, why);
        s->again = true;
        return;
    }
    if (kb_lane_start(s, &r->lane, &lane_kind))
        serve(s, b);
}

void kb_races_step(struct kb_session *s)
{
    kb_lane_step(s, &s->races.lane, &lane_kind);
    assign(s);
}

void kb_races_restart(struct kb_session *s, const char *why)
{
    kb_lane_restart(s, &s->races.lane, &lane_kind, why);
}

void kb_races_free(struct kb_session *s)
{
    kb_lane_free(&s->races.lane);
    free(s->races.prepare_error);
    free(s->races.loaded);
}
