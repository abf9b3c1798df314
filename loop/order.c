// Who is next: the focused variant first, then the newest save, then the order of the bench. First verdicts go before
// second, longer timings; at most one build of a variant compiles at a time, and only its newest content waits.
#include "loop/parts.h"

#include <string.h>

int kb_lookup_ms = 10;

static bool before(const struct kb_session *s, const struct kb_build *a, const struct kb_build *b)
{
    if (!b)
        return true;
    int focus = kb_focus_index(s);
    if ((a->variant == focus) != (b->variant == focus))
        return a->variant == focus;
    bool pin_a = a->variant == s->pin_variant, pin_b = b->variant == s->pin_variant;
    if (s->options.once && pin_a != pin_b) // the baseline is what the others are compared with
        return pin_a;
    if (a->saved_us != b->saved_us)
        return a->saved_us > b->saved_us;
    return a->variant < b->variant;
}

static bool compiling(const struct kb_session *s, const struct kb_build *b)
{
    for (int i = 0; i < KB_COMPILE_WORKERS; i++)
        if (s->compilers[i].job && s->compilers[i].build && (!b || s->compilers[i].build == b))
            return true;
    return false;
}

struct kb_build *kb_next_to_compile(struct kb_session *s)
{
    struct kb_build *best = NULL;
    if (compiling(s, NULL))
        return NULL;
    for (int i = 0; i < s->slot_count; i++) {
        struct kb_build *b = s->slots[i].current;
        if (!b || b->dead || b->stage == KB_STAGE_ASK || b->stage > KB_STAGE_COMPILE)
            continue;
        if (before(s, b, best))
            best = b;
    }
    if (!best || (best->stage == KB_STAGE_LOOKUP && kb_now_us() - best->lookup_us < kb_lookup_ms * 1000))
        return NULL; // the history's answer for the first in line is worth the moment
    best->stage = KB_STAGE_COMPILE;
    return best;
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

struct kb_build *kb_next_to_run(struct kb_session *s)
{
    struct kb_build *best = NULL, *second = NULL;
    for (int i = 0; i < s->slot_count; i++) {
        struct kb_build *b = s->slots[i].current;
        if (!b || b->dead)
            continue;
        if (b->stage == KB_STAGE_LADDER && before(s, b, best))
            best = b;
        if (b->stage == KB_STAGE_DONE && kb_build_passed(b) && b->settled_timing && before(s, b, second))
            second = b;
    }
    return best ? best : second;
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
