// Which events say why a version is as fast as it is: collected in one place for the panes why, source and sass.
#ifndef KB_TUI_EVIDENCE_H
#define KB_TUI_EVIDENCE_H
#include "loop/advice.h"
#include "tui/app.h"

struct kb_why_events {
    struct kb_advice_input in;                   // what the advice is made from
    const char *sections_state, *counters_state; // words for what is not there; never NULL
};
void kb_why_events_of(const struct kb_app *, const struct kb_model_version *, struct kb_why_events *);

// What one source line costs: samples of the hardware, or counts of the CPU device.
struct kb_cost {
    int line;
    double share;                                // of all samples, or of all executed instructions
    double bytes, sectors, conflicts, divergent; // counted; NAN unknown
    double stall_share;
    const char *stall; // main group of stalls; NULL unknown
};
struct kb_costs {
    struct kb_cost *items; // by line
    int count, capacity;
    int *heat;    // indices of items, the hottest first
    bool sampled; // else counted
};
// sections and facts: events or NULL; samples go before counts. file: as the bench names it. Lines of other files are
// left out.
void kb_costs_make(const struct kb_ev_sections *, const struct kb_ev_facts *, const char *file, struct kb_costs *);
void kb_costs_free(struct kb_costs *);
const struct kb_cost *kb_cost_at(const struct kb_costs *, int line); // NULL: it costs nothing that was seen
// The line by places hotter (by < 0) or less hot than this one; stays at the ends. line of no cost: the hottest.
int kb_cost_step(const struct kb_costs *, int line, int by);

#endif
