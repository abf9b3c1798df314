// The focused variant goes first, then the newest save, then the order of the bench. First verdicts go before second,
// longer timings; one version compiles at a time; what is behind the verdict waits until no save is in flight, but for
// listings, which disturb nobody.
#include "loop/schedule.h"

static bool goes_before(const struct kb_schedule_state *st, int a, int b)
{
    if (b < 0)
        return true;
    if ((a == st->focus) != (b == st->focus))
        return a == st->focus;
    if ((a == st->baseline) != (b == st->baseline)) // the others are compared with it
        return a == st->baseline;
    if (st->slots[a].saved_us != st->slots[b].saved_us)
        return st->slots[a].saved_us > st->slots[b].saved_us;
    return a < b;
}

static void offer(const struct kb_schedule_state *st, bool wants, int slot, int *best)
{
    if (wants && goes_before(st, slot, *best))
        *best = slot;
}

// Behind the verdict the bench's order counts, not the time of saves.
static void offer_late(const struct kb_schedule_state *st, bool wants, int slot, int *best)
{
    if (wants && (*best < 0 || slot == st->focus))
        *best = slot;
}

struct kb_schedule kb_schedule(const struct kb_schedule_state *st)
{
    struct kb_schedule next = {-1, -1, -1, -1, -1, false};
    int settle = -1;
    bool saves = false;
    for (int i = 0; i < st->count; i++) {
        const struct kb_schedule_slot *slot = &st->slots[i];
        saves = saves || slot->in_flight;
        offer(st, slot->compile || slot->lookup, i, &next.compile);
        offer(st, slot->ladder, i, &next.run);
        offer(st, slot->settle, i, &settle);
        offer_late(st, slot->races, i, &next.races);
        offer_late(st, slot->sass, i, &next.sass);
        offer_late(st, slot->profile && (st->others || i == st->focus), i, &next.profile);
    }
    if (st->compiling || (next.compile >= 0 && st->slots[next.compile].lookup))
        next.compile = -1;
    if (next.run < 0)
        next.run = settle;
    if (saves || st->verdicts_open)
        next.races = -1;
    if (saves)
        next.profile = -1;
    next.profile_may_work = !saves && st->run_idle && next.run < 0;
    return next;
}
