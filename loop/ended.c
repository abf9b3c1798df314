// The end of a build: its verdict as an event, and `done`, once and last, when nothing more will come for it.
#include "loop/parts.h"

#include <string.h>

cJSON *kb_build_outcome(const struct kb_build *b, const char *type, int64_t at_us)
{
    int failed = kb_build_failed_rung(b);
    int64_t since = b->saved_us ? b->saved_us : b->started_us;
    bool skipped = failed < 0 && b->rungs[KB_RUNG_TIME] == KB_STATUS_SKIP;
    cJSON *event = kb_build_event(b, type);
    kb_json_set_text(event, "status", failed >= 0 ? "fail" : skipped ? "skip" : "pass");
    kb_json_set_text(event, "rung", failed >= 0 ? kb_rungs[failed].name : NULL);
    if (failed >= 0 && b->fault_of)
        kb_json_set_text(event, "fault_of", b->fault_of);
    kb_json_set_number(event, "ms", (double)(at_us - since) / 1000.0);
    kb_json_set_number(event, "first_verdict_ms", (double)(b->verdict_us - since) / 1000.0);
    return event;
}

void kb_ended_build(struct kb_session *s, struct kb_build *b)
{
    if (b->dead || !b->finished || b->done)
        return;
    b->done = true;
    if (kb_build_passed(b) && !kb_late_owed(b))
        kb_advise(s, b);
    kb_emit_build(s, b, kb_build_outcome(b, "done", kb_now_us()));
    kb_records_update(s, b);
}

void kb_ended_slot(struct kb_session *s, struct kb_slot *slot)
{
    for (int i = 0; i < slot->known_count; i++)
        kb_ended_build(s, slot->known[i]);
}

void kb_ended_all(struct kb_session *s)
{
    for (int i = 0; i < s->slot_count; i++)
        kb_ended_slot(s, &s->slots[i]);
}

// What is under way for it still brings events, if only that it was cut short.
static bool is_held(const struct kb_session *s, const struct kb_build *b)
{
    return s->run.lane.build == b || s->races.lane.build == b || s->profile.lane.build == b || s->disasm.build == b;
}

// Of content that is no longer the newest nothing begins any more.
static bool more_to_come(const struct kb_session *s, const struct kb_slot *slot, const struct kb_build *b)
{
    bool timing = b->settled_timing && kb_build_passed(b) && !kb_no_device(s);
    return is_held(s, b) || (b == slot->current && (timing || kb_late_owed(b)));
}

void kb_ended_step(struct kb_session *s)
{
    for (int i = 0; i < s->slot_count; i++)
        for (int k = 0; k < s->slots[i].known_count; k++) {
            struct kb_build *b = s->slots[i].known[k];
            if (!b->done && b->finished && !more_to_come(s, &s->slots[i], b))
                kb_ended_build(s, b);
        }
}
