#include "loop/lane.h"
#include "loop/parts.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_FAILURES = 3,
    CANCEL_MS = 2000, // what still runs so long after its cancelling hangs
};

static void tell_worker(struct kb_session *s, const struct kb_lane *lane, const struct kb_lane_kind *kind,
                        const char *state, const char *reason)
{
    if (!kind->silent)
        kb_emit_worker(s, kind->role, state, lane->peer, reason);
}

static void give_up(struct kb_session *s, struct kb_lane *lane, const struct kb_lane_kind *kind, const char *reason)
{
    free(lane->absent);
    lane->absent = kb_strdup(reason);
    tell_worker(s, lane, kind, "failed", reason);
    if (kind->absent)
        kind->absent(s, lane->absent);
}

bool kb_lane_start(struct kb_session *s, struct kb_lane *lane, const struct kb_lane_kind *kind)
{
    if (!lane->peer) {
        struct kb_error error = {0};
        char *argv[KB_LANE_ARGUMENTS] = {s->worker_path};
        kind->command(s, argv);
        lane->peer = kb_peer_start(argv, &error);
        if (!lane->peer) {
            give_up(s, lane, kind, kb_error_line(&error));
            return false;
        }
        if (kind->started)
            kind->started(lane->peer);
        kb_peer_deadline(lane->peer, kind->hello_ms);
        tell_worker(s, lane, kind, "starting", NULL);
    }
    return lane->ready && !kb_peer_ending(lane->peer);
}

static void hello(struct kb_session *s, struct kb_lane *lane, const struct kb_lane_kind *kind, const cJSON *head)
{
    const cJSON *failed = kb_json_get(head, "failed");
    const char *remedy = kind->remedy ? kb_json_text(failed, "remedy", NULL) : NULL;
    kb_peer_deadline(lane->peer, 0);
    if (kind->hello)
        kind->hello(s, head);
    lane->ready = !cJSON_IsObject(failed);
    if (lane->ready) {
        tell_worker(s, lane, kind, "ready", NULL);
        return;
    }
    char *reason = kb_format("%s%s%s", kb_json_text(failed, "what", "its worker failed"), remedy ? kind->remedy : "",
                             remedy ? remedy : "");
    give_up(s, lane, kind, reason);
    free(reason);
}

static void take_frame(struct kb_session *s, struct kb_lane *lane, const struct kb_lane_kind *kind,
                       struct kb_frame *frame)
{
    if (kind->all)
        kind->all(s, frame);
    else if (!strcmp(kb_frame_type(frame), "hello"))
        hello(s, lane, kind, frame->head);
    else if (lane->job && kb_frame_job(frame) == lane->job)
        kind->frame(s, frame);
}

static void worker_ended(struct kb_session *s, struct kb_lane *lane, const struct kb_lane_kind *kind,
                         const struct kb_peer_event *event)
{
    bool was_ready = lane->ready;
    tell_worker(s, lane, kind, kb_lane_end(event), event->text);
    kb_peer_free(lane->peer);
    lane->peer = NULL;
    bool in_vain = kind->ended(s, event) || !was_ready;
    kb_lane_forget(s, lane, kind);
    if (in_vain && !lane->absent && ++lane->failures >= MOST_FAILURES)
        give_up(s, lane, kind, event->text);
}

void kb_lane_step(struct kb_session *s, struct kb_lane *lane, const struct kb_lane_kind *kind)
{
    struct kb_peer_event event;
    if (lane->peer)
        kb_peer_step(lane->peer);
    while (lane->peer && kb_peer_next(lane->peer, &event)) {
        if (event.kind == KB_PEER_FRAME)
            take_frame(s, lane, kind, &event.frame);
        else if (event.kind == KB_PEER_LINE)
            kb_emit_log(s, kind->source, lane->build ? lane->build->name : NULL, event.text, event.dropped);
        else if (kind->gone)
            kind->gone(s, &event);
        else
            worker_ended(s, lane, kind, &event);
        kb_peer_event_free(&event);
    }
}

cJSON *kb_lane_request(struct kb_session *s, struct kb_lane *lane, const char *type, struct kb_build *b,
                       int deadline_ms)
{
    lane->job = ++s->next_job;
    lane->cancelled = false;
    lane->build = kb_build_ref(b);
    cJSON *head = kb_frame_head(type, lane->job);
    if (b)
        kb_json_set_text(head, "version", b->key);
    kb_peer_deadline(lane->peer, deadline_ms);
    return head;
}

struct kb_build *kb_lane_close(struct kb_lane *lane)
{
    struct kb_build *b = lane->build;
    lane->build = NULL;
    lane->job = 0;
    if (lane->peer)
        kb_peer_deadline(lane->peer, 0);
    return b;
}

void kb_lane_cancel(struct kb_lane *lane)
{
    cJSON *head = kb_frame_head("cancel", 0);
    kb_json_set_number(head, "of", (double)lane->job);
    kb_peer_send(lane->peer, head, NULL, 0);
    kb_peer_deadline(lane->peer, CANCEL_MS);
    lane->cancelled = true;
}

void kb_lane_retire(struct kb_session *s, struct kb_lane *lane, const struct kb_lane_kind *kind, const char *why,
                    bool now)
{
    if (lane->peer)
        kb_retire(s, lane->peer, kind->role, why, now);
    lane->peer = NULL;
}

void kb_lane_forget(struct kb_session *s, struct kb_lane *lane, const struct kb_lane_kind *kind)
{
    kb_build_unref(lane->build);
    lane->build = NULL;
    lane->job = 0;
    lane->ready = lane->cancelled = false;
    if (kind->forget)
        kind->forget(s);
}

void kb_lane_forgive(struct kb_lane *lane)
{
    lane->failures = 0;
    free(lane->absent);
    lane->absent = NULL;
}

void kb_lane_restart(struct kb_session *s, struct kb_lane *lane, const struct kb_lane_kind *kind, const char *why)
{
    kind->cut(s, why);
    kb_lane_retire(s, lane, kind, why, kind->expendable);
    kb_lane_forgive(lane);
    kb_lane_forget(s, lane, kind);
}

int kb_lane_wait_ms(const struct kb_lane *lane)
{
    return lane->peer ? kb_peer_wait_ms(lane->peer) : -1;
}

void kb_lane_free(struct kb_lane *lane)
{
    kb_peer_free(lane->peer);
    kb_build_unref(lane->build);
    free(lane->absent);
    *lane = (struct kb_lane){0};
}

const char *kb_lane_end(const struct kb_peer_event *ended)
{
    return ended->abandoned ? "abandoned" : ended->asked ? "killed" : "ended";
}
