// What the scheduler has to know of a session. At most one build of a variant compiles at a time, and only its newest
// content waits.
#include "loop/parts.h"

#include <stdlib.h>
#include <string.h>

int kb_lookup_ms = 10;

static bool compiling(const struct kb_session *s, const struct kb_build *b)
{
    for (int i = 0; i < KB_COMPILE_WORKERS; i++)
        if (s->compilers[i].job && s->compilers[i].build && (!b || s->compilers[i].build == b))
            return true;
    return false;
}

static struct kb_schedule_slot slot_of(const struct kb_session *s, const struct kb_build *b)
{
    if (!b || b->dead)
        return (struct kb_schedule_slot){0};
    bool young = kb_now_us() - b->lookup_us < kb_lookup_ms * 1000;
    return (struct kb_schedule_slot){
        .saved_us = b->saved_us,
        .in_flight = kb_build_in_flight(b),
        .compile = b->stage == KB_STAGE_COMPILE || (b->stage == KB_STAGE_LOOKUP && !young),
        .lookup = b->stage == KB_STAGE_LOOKUP && young,
        .ladder = b->stage == KB_STAGE_LADDER,
        .settle = b->stage == KB_STAGE_DONE && kb_build_passed(b) && b->settled_timing,
        .races = !s->options.no_profile && kb_races_due(b),
        .sass = !s->options.no_profile && kb_late_due(b, KB_RUNG_SASS),
        .profile = (int)kb_profile_due(s, b),
    };
}

struct kb_schedule kb_order(const struct kb_session *s)
{
    struct kb_schedule_slot *slots = kb_alloc(((size_t)s->slot_count + 1) * sizeof *slots);
    for (int i = 0; i < s->slot_count; i++)
        slots[i] = slot_of(s, s->slots[i].current);
    const struct kb_run_worker *r = &s->run;
    struct kb_schedule next = kb_schedule(&(struct kb_schedule_state){
        .slots = slots,
        .count = s->slot_count,
        .focus = kb_focus_index(s),
        .baseline = s->options.once ? s->pin_variant : -1,
        .compiling = compiling(s, NULL),
        .run_idle = r->lane.peer && r->lane.ready && r->request == KB_REQUEST_NONE && !r->idle_job &&
                    r->prepared == s->bench_generation,
        .verdicts_open = s->options.once && (!kb_all_done(s) || r->request != KB_REQUEST_NONE),
        .others = kb_profile_has_time(s),
    });
    free(slots);
    return next;
}

struct kb_build *kb_build_at(const struct kb_session *s, int slot)
{
    return slot < 0 ? NULL : s->slots[slot].current;
}

int kb_lookup_wait_ms(const struct kb_session *s)
{
    int wait = -1;
    for (int i = 0; i < s->slot_count; i++) {
        const struct kb_build *b = s->slots[i].current;
        if (!b || b->dead || b->stage != KB_STAGE_LOOKUP)
            continue;
        int64_t left = b->lookup_us + kb_lookup_ms * 1000 - kb_now_us();
        wait = kb_sooner(wait, left > 0 ? (int)(left / 1000) + 1 : compiling(s, NULL) ? -1 : 0);
    }
    return wait;
}

bool kb_is_wanted(const struct kb_session *s, const struct kb_slot *slot)
{
    const char *only = s->options.trace ? s->options.trace : s->options.once ? s->options.variant : NULL;
    if (!only || !strcmp(slot->name, only))
        return true;
    const struct kb_goal *goal = &s->bench->goal;
    bool baseline = s->options.baseline && !strcmp(slot->name, s->options.baseline);
    bool chased = goal->kind == KB_GOAL_VERSUS && !strcmp(slot->name, goal->versus);
    return !s->options.trace && (baseline || chased); // what it is compared with
}

bool kb_all_done(const struct kb_session *s)
{
    for (int i = 0; i < s->slot_count; i++) {
        const struct kb_slot *slot = &s->slots[i];
        if (!slot->source || slot->source->missing || !kb_is_wanted(s, slot))
            continue;
        const struct kb_build *b = slot->current;
        if (!b || !b->finished || (b->settled_timing && kb_build_passed(b) && !kb_no_device(s)))
            return false;
    }
    return true;
}
