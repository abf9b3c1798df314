// What all lanes have in common: what their worker says goes to them, and how a request to it begins.
#include "loop/parts.h"

enum { CANCEL_MS = 2000 }; // what still runs so long after its cancelling hangs

void kb_lane_step(struct kb_session *s, const struct kb_lane *lane)
{
    struct kb_peer_event event;
    if (*lane->peer)
        kb_peer_step(*lane->peer);
    while (*lane->peer && kb_peer_next(*lane->peer, &event)) {
        const struct kb_build *b = lane->build ? *lane->build : NULL;
        if (event.kind == KB_PEER_FRAME)
            lane->frame(s, &event.frame);
        else if (event.kind == KB_PEER_LINE)
            kb_emit_log(s, lane->source, b ? b->name : NULL, event.text, event.dropped);
        else
            lane->ended(s, &event);
        kb_peer_event_free(&event);
    }
}

cJSON *kb_lane_request(struct kb_session *s, struct kb_peer *peer, const char *type, const struct kb_build *b,
                       int deadline_ms)
{
    cJSON *head = kb_frame_head(type, ++s->next_job);
    if (b)
        kb_json_set_text(head, "version", b->key);
    kb_peer_deadline(peer, deadline_ms);
    return head;
}

void kb_lane_cancel(struct kb_peer *peer, int64_t job)
{
    cJSON *head = kb_frame_head("cancel", 0);
    kb_json_set_number(head, "of", (double)job);
    kb_peer_send(peer, head, NULL, 0);
    kb_peer_deadline(peer, CANCEL_MS);
}

const char *kb_lane_end(const struct kb_peer_event *ended)
{
    return ended->abandoned ? "abandoned" : ended->asked ? "killed" : "ended";
}
