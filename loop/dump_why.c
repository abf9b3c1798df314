// The parts of report.md that say why: sections, counters, resources, machine code.
#include "base/memory.h"
#include "loop/advice.h"
#include "loop/dump_parts.h"
#include "loop/quantity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 12, MOST_CLASSES = 24 };

static void unknown(const struct kb_report *r, const char *rung)
{
    const struct kb_ev_rung *event = kb_report_rung(r, rung);
    kb_text_add(r->out, "Unknown: ");
    kb_report_say(r->out, event && event->reason ? event->reason : "not measured");
    kb_text_add(r->out, ".\n");
}

static void stalls_cell(const struct kb_report *r, const struct kb_ev_stall *stalls, int count)
{
    struct kb_text text = {0};
    for (int i = 0; i < count && i < 3; i++)
        kb_text_addf(&text, "%s%s %s", text.size ? ", " : "", stalls[i].group ?: "?", kb_percent(stalls[i].share).s);
    kb_report_cell(r->out, text.data);
    kb_text_free(&text);
}

static void section_rows(const struct kb_report *r, const struct kb_ev_section *rows, int count)
{
    kb_text_add(r->out, "\n| section | lines | share | us | waits |\n|---|---|---|---|---|\n");
    for (const struct kb_ev_section *row = rows; row < rows + count; row++) {
        char *lines = row->line ? kb_format("%d-%d", (int)row->line, (int)row->end_line) : kb_strdup("-");
        kb_text_add(r->out, "|");
        kb_report_cell(r->out, row->name ?: "?");
        kb_report_cell(r->out, lines);
        kb_report_cell(r->out, kb_percent(row->share).s);
        kb_report_cell(r->out, kb_plain(row->us).s);
        stalls_cell(r, row->stalls, row->stalls_count);
        kb_text_add(r->out, "\n");
        free(lines);
    }
}

static void line_rows(const struct kb_report *r, const struct kb_ev_sections *s)
{
    bool counted = kb_is_counted(s->source);
    kb_text_addf(r->out, "\n| line | %s | waits |\n|---|---|---|\n", counted ? "instructions" : "samples");
    for (int i = 0; i < s->lines_count && i < MOST_LINES; i++) {
        const struct kb_ev_line_counts *line = &s->lines[i];
        char *place = kb_format("%s:%d", line->file ?: "?", (int)line->line);
        kb_text_add(r->out, "|");
        kb_report_cell(r->out, place);
        kb_report_cell(r->out, kb_plain(counted ? line->instructions : line->samples).s);
        stalls_cell(r, line->stalls, line->stalls_count);
        kb_text_add(r->out, "\n");
        free(place);
    }
}

void kb_report_sections(const struct kb_report *r)
{
    const struct kb_ev_sections *s = KB_LAST(r, sections, -1);
    kb_text_add(r->out, "\n## Sections\n\n");
    if (!s) {
        unknown(r, "sections");
        return;
    }
    kb_text_add(r->out, "Source: ");
    bool counted = kb_is_counted(s->source), divided = s->sections_count > 0;
    if (!counted)
        kb_text_addf(r->out, "%s samples by ", kb_plain(s->samples).s);
    kb_report_say(r->out, s->source ?: "?");
    if (!counted)
        kb_text_addf(r->out, " (%s dropped)", kb_plain(s->dropped).s);
    kb_text_add(r->out, "; ");
    kb_report_say(r->out, s->attribution ?: "shares of the samples");
    kb_text_add(r->out, ".\n");
    section_rows(r, divided ? s->sections : s->functions, divided ? s->sections_count : s->functions_count);
    line_rows(r, s);
}

static void counter_row(const struct kb_report *r, const struct kb_ev_counters *c, const struct kb_named *metric)
{
    const struct kb_ev_counter *about = kb_about_counter(c, metric->name);
    const struct kb_ev_timing *timing = KB_LAST(r, timing, r->context->headline);
    double time_us = timing && timing->cold ? timing->cold->median_us : NAN;
    double peak = kb_record_number(&kb_record_peaks, c->peaks ?: &kb_unknown_peaks, about->peak ?: "");
    double share = !isnan(peak) ? metric->value / time_us * 1e6 / peak : metric->value / about->best;
    kb_text_add(r->out, "|");
    kb_report_cell(r->out, metric->name);
    if (isnan(metric->value))
        kb_report_cell(r->out, metric->reason ?: "unknown");
    else
        kb_report_cell(r->out, kb_quantity(metric->value, about->unit ?: "").s);
    kb_report_cell(r->out, isnan(share) ? "-" : kb_percent(share).s);
    kb_report_cell(r->out, about->about);
    kb_text_add(r->out, "\n");
}

static void hardware_counters(const struct kb_report *r)
{
    for (int i = 0; i < r->events.count; i++) {
        const struct kb_ev_counters *c = r->events.items[i].body;
        if (r->events.items[i].type != KB_EVENT_counters)
            continue;
        kb_text_add(r->out, "Source: ");
        kb_report_say(r->out, c->source ?: "?");
        if (!kb_is_counted(c->source))
            kb_text_addf(r->out, ", %s passes%s", kb_plain(c->passes).s, c->cold == KB_YES ? ", cold L2" : "");
        kb_text_add(r->out, ".\n\n");
        kb_text_add(r->out, "| counter | value | of its peak | what |\n|---|---|---|---|\n");
        for (int k = 0; k < c->metrics_count; k++)
            counter_row(r, c, &c->metrics[k]);
        kb_text_add(r->out, "\n");
    }
    if (!KB_LAST(r, counters, -1))
        unknown(r, "counters");
}

static void counted_line(const struct kb_report *r, double value, const char *name)
{
    if (isnan(value))
        return;
    kb_text_add(r->out, "|");
    kb_report_cell(r->out, name);
    kb_report_cell(r->out, kb_quantity(value, "").s);
    kb_text_add(r->out, "\n");
}

static void counted(const struct kb_report *r)
{
    const struct kb_ev_facts *event = KB_LAST(r, facts, r->context->headline);
    const struct kb_ev_counters *counters = KB_LAST(r, counters, -1);
    const struct kb_ev_counts *facts = event ? event->facts : NULL;
    if (!facts || (counters && kb_is_counted(counters->source)))
        return;
    const struct kb_ev_asked_bytes *bytes = facts->bytes ?: &kb_unknown_asked_bytes;
    const struct kb_ev_by_type *flops = facts->flops ?: &kb_unknown_by_type;
    kb_text_add(r->out, "\nCounted exactly by the CPU device, of the PTX, on the headline case:\n\n"
                        "| count | value |\n|---|---|\n");
    counted_line(r, facts->instructions, "warp instructions");
    counted_line(r, facts->average_active_lanes, "active lanes an instruction");
    counted_line(r, facts->global_requests, "requests to global memory");
    counted_line(r, facts->global_sectors, "32-byte sectors of them");
    counted_line(r, facts->shared_requests, "requests to shared memory");
    counted_line(r, facts->shared_bank_conflicts, "further turns by bank conflicts");
    counted_line(r, facts->divergent_branches, "divergent branches");
    counted_line(r, facts->barriers, "barriers");
    counted_line(r, facts->atomics, "atomics");
    counted_line(r, bytes->global_load, "bytes loaded from global memory");
    counted_line(r, bytes->global_store, "bytes stored to global memory");
    counted_line(r, flops->f32, "FLOPs in single precision");
    counted_line(r, flops->f64, "FLOPs in double precision");
}

void kb_report_counters(const struct kb_report *r)
{
    kb_text_add(r->out, "\n## Counters\n\n");
    hardware_counters(r);
    counted(r);
}

void kb_report_resources(const struct kb_report *r)
{
    static const char *const keys[] = {
        "registers",   "spill_store_bytes", "spill_load_bytes", "shared_bytes",  "dynamic_shared_bytes",
        "stack_bytes", "block_threads",     "blocks",           "blocks_per_sm", "occupancy"};
    const struct kb_ev_resources *resources = KB_LAST(r, resources, -1) ?: &kb_unknown_resources;
    kb_text_add(r->out, "\n## Resources\n\n");
    if (!resources->kernels_count) {
        kb_text_add(r->out, "Unknown: nothing was compiled.\n");
        return;
    }
    kb_text_add(r->out, "Source: the compiler; occupancy and blocks from the limits of the device.\n");
    for (int k = 0; k < resources->kernels_count; k++) {
        const struct kb_ev_kernel_resources *kernel = &resources->kernels[k];
        kb_text_add(r->out, "\n- ");
        kb_report_say(r->out, kernel->name ?: "?");
        for (size_t i = 0; i < KB_COUNT(keys); i++)
            kb_text_addf(r->out, "%s %s %s", i ? "," : ":", keys[i],
                         kb_plain(kb_record_number(&kb_record_kernel_resources, kernel, keys[i])).s);
        kb_text_add(r->out, ", limited by ");
        kb_report_say(r->out, kernel->limited_by ?: "unknown");
        kb_text_add(r->out, "\n");
    }
}

void kb_report_sass(const struct kb_report *r)
{
    const struct kb_ev_sass *sass = KB_LAST(r, sass, -1) ?: &kb_unknown_sass;
    for (int k = 0; k < sass->kernels_count; k++) {
        const struct kb_ev_sass_kernel *kernel = &sass->kernels[k];
        kb_text_add(r->out, "\n## SASS of ");
        kb_report_say(r->out, kernel->name ?: "?");
        kb_text_addf(r->out, "\n\nSource: nvdisasm. %s instructions, at most %s registers live at once.\n\n",
                     kb_plain(kernel->instructions).s, kb_plain(kernel->live_registers_peak).s);
        for (int i = 0; i < kernel->by_class_count && i < MOST_CLASSES; i++)
            kb_text_addf(r->out, "%s%s %s", i ? ", " : "", kernel->by_class[i].name,
                         kb_plain(kernel->by_class[i].value).s);
        kb_text_add(r->out, ".\n");
    }
}
