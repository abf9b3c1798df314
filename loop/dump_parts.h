// The parts of report.md, shared by its files.
#ifndef KB_LOOP_DUMP_PARTS_H
#define KB_LOOP_DUMP_PARTS_H
#include "base/text.h"
#include "event/event.h"
#include "loop/dump.h"

struct kb_report {
    const cJSON *record, *results;
    struct kb_events events;
    struct kb_ev_device *device;
    const struct kb_report_context *context;
    struct kb_text *out;
};

// Foreign text inside a table or a paragraph: clean, on one line, no markup of its own.
void kb_report_say(struct kb_text *, const char *);
void kb_report_cell(struct kb_text *, const char *);
// The last event of a type, KB_LAST(r, timing, 0); of one case (-1: any). NULL: none.
const void *kb_report_last(const struct kb_report *, enum kb_event_type, int index);
#define KB_LAST(r, TYPE, index) ((const struct kb_ev_##TYPE *)kb_report_last(r, KB_EVENT_##TYPE, index))
// The last word on a rung; NULL: none.
const struct kb_ev_rung *kb_report_rung(const struct kb_report *, const char *rung);

// dump_why.c
void kb_report_sections(const struct kb_report *);
void kb_report_counters(const struct kb_report *);
void kb_report_resources(const struct kb_report *);
void kb_report_sass(const struct kb_report *);

#endif
