// The parts of report.md, shared by its files.
#ifndef KB_LOOP_DUMP_PARTS_H
#define KB_LOOP_DUMP_PARTS_H
#include "base/text.h"
#include "loop/dump.h"

#include <cjson/cJSON.h>

struct kb_report {
    const cJSON *record, *results, *events, *device;
    const struct kb_report_context *context;
    struct kb_text *out;
};

// Foreign text inside a table or a paragraph: clean, on one line, no markup of its own.
void kb_report_say(struct kb_text *, const char *);
void kb_report_cell(struct kb_text *, const char *);
// The last event of a type; of one case (-1: any). NULL: none.
const cJSON *kb_report_last(const struct kb_report *, const char *type, int index);

// dump_why.c
void kb_report_sections(const struct kb_report *);
void kb_report_counters(const struct kb_report *);
void kb_report_resources(const struct kb_report *);
void kb_report_sass(const struct kb_report *);

#endif
