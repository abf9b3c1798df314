// What the CPU device counted (jit/ptx/facts.h), as lines.
#ifndef KB_TUI_FACTS_H
#define KB_TUI_FACTS_H
#include "tui/app.h"

// NAN if nothing was asked for. 4 is the least for 4-byte elements, 32 the most.
double kb_sectors_per_request(const struct kb_ev_counts *);
// One of its reports, or a finding, at its place; style: of what it is.
void kb_facts_report(const struct kb_ev_report *, enum kb_style, int width, struct kb_lines *);
// Out-of-bounds, races, divergent barriers: each with its place.
void kb_facts_reports(const struct kb_ev_counts *, int width, struct kb_lines *);
void kb_facts_totals(const struct kb_ev_counts *, struct kb_lines *out);
// Totals, then the source lines that cost most.
void kb_facts_lines(const struct kb_app *, const struct kb_ev_counts *, int width, struct kb_lines *);

#endif
