// The parts of report.md that say why: sections, counters, resources, machine code.
#include "base/json.h"
#include "base/memory.h"
#include "loop/dump_parts.h"
#include "loop/quantity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 12, MOST_CLASSES = 24 };

static const char *reason_of_rung(const struct kb_report *r, const char *rung)
{
    const cJSON *event;
    const char *reason = "not measured";
    cJSON_ArrayForEach (event, r->events)
        if (!strcmp(kb_json_text(event, "type", ""), "rung") && !strcmp(kb_json_text(event, "rung", ""), rung))
            reason = kb_json_text(event, "reason", "not measured");
    return reason;
}

static void unknown(const struct kb_report *r, const char *rung)
{
    kb_text_add(r->out, "Unknown: ");
    kb_report_say(r->out, reason_of_rung(r, rung));
    kb_text_add(r->out, ".\n");
}

static void stalls_cell(const struct kb_report *r, const cJSON *row)
{
    const cJSON *stall;
    struct kb_text text = {0};
    int n = 0;
    cJSON_ArrayForEach (stall, kb_json_get(row, "stalls"))
        if (n++ < 3)
            kb_text_addf(&text, "%s%s %s", text.size ? ", " : "", kb_json_text(stall, "group", "?"),
                         kb_percent(kb_json_number(stall, "share", NAN)).s);
    kb_report_cell(r->out, text.data);
    kb_text_free(&text);
}

static void section_rows(const struct kb_report *r, const cJSON *rows)
{
    const cJSON *row;
    kb_text_add(r->out, "\n| section | lines | share | us | waits |\n|---|---|---|---|---|\n");
    cJSON_ArrayForEach (row, rows) {
        char *lines = kb_json_int(row, "line", 0)
                          ? kb_format("%d-%d", (int)kb_json_int(row, "line", 0), (int)kb_json_int(row, "end_line", 0))
                          : kb_strdup("-");
        kb_text_add(r->out, "|");
        kb_report_cell(r->out, kb_json_text(row, "name", "?"));
        kb_report_cell(r->out, lines);
        kb_report_cell(r->out, kb_percent(kb_json_number(row, "share", NAN)).s);
        kb_report_cell(r->out, kb_plain(kb_json_number(row, "us", NAN)).s);
        stalls_cell(r, row);
        kb_text_add(r->out, "\n");
        free(lines);
    }
}

static bool is_counted(const cJSON *event)
{
    return kb_starts(kb_json_text(event, "source", ""), "counted");
}

static void line_rows(const struct kb_report *r, const cJSON *lines, const char *key)
{
    const cJSON *line;
    int n = 0;
    kb_text_addf(r->out, "\n| line | %s | waits |\n|---|---|---|\n", key);
    cJSON_ArrayForEach (line, lines) {
        if (n++ == MOST_LINES)
            break;
        char *place = kb_format("%s:%d", kb_json_text(line, "file", "?"), (int)kb_json_int(line, "line", 0));
        kb_text_add(r->out, "|");
        kb_report_cell(r->out, place);
        kb_report_cell(r->out, kb_plain(kb_json_number(line, key, NAN)).s);
        stalls_cell(r, line);
        kb_text_add(r->out, "\n");
        free(place);
    }
}

void kb_report_sections(const struct kb_report *r)
{
    const cJSON *s = kb_report_last(r, "sections", -1), *rows = kb_json_get(s, "sections");
    kb_text_add(r->out, "\n## Sections\n\n");
    if (!s) {
        unknown(r, "sections");
        return;
    }
    kb_text_add(r->out, "Source: ");
    if (!is_counted(s))
        kb_text_addf(r->out, "%s samples by ", kb_plain(kb_json_number(s, "samples", NAN)).s);
    kb_report_say(r->out, kb_json_text(s, "source", "?"));
    if (!is_counted(s))
        kb_text_addf(r->out, " (%s dropped)", kb_plain(kb_json_number(s, "dropped", NAN)).s);
    kb_text_add(r->out, "; ");
    kb_report_say(r->out, kb_json_text(s, "attribution", "shares of the samples"));
    kb_text_add(r->out, ".\n");
    section_rows(r, cJSON_GetArraySize(rows) ? rows : kb_json_get(s, "functions"));
    line_rows(r, kb_json_get(s, "lines"), is_counted(s) ? "instructions" : "samples");
}

static void counter_row(const struct kb_report *r, const cJSON *event, const cJSON *metric)
{
    const cJSON *about = kb_json_get(kb_json_get(event, "about"), metric->string);
    double time_us =
        kb_json_number(kb_json_get(kb_report_last(r, "timing", r->context->headline), "cold"), "median_us", NAN);
    double peak = kb_json_number(kb_json_get(event, "peaks"), kb_json_text(about, "peak", ""), NAN),
           best = kb_json_number(about, "best", NAN), value = cJSON_IsNumber(metric) ? metric->valuedouble : NAN;
    double share = !isnan(peak) ? value / time_us * 1e6 / peak : value / best;
    char *why = kb_format("%s_reason", metric->string);
    kb_text_add(r->out, "|");
    kb_report_cell(r->out, metric->string);
    if (isnan(value))
        kb_report_cell(r->out, kb_json_text(kb_json_get(event, "metrics"), why, "unknown"));
    else
        kb_report_cell(r->out, kb_quantity(value, kb_json_text(about, "unit", "")).s);
    kb_report_cell(r->out, isnan(share) ? "-" : kb_percent(share).s);
    kb_report_cell(r->out, kb_json_text(about, "about", ""));
    kb_text_add(r->out, "\n");
    free(why);
}

static void hardware_counters(const struct kb_report *r)
{
    const cJSON *event, *metric;
    bool any = false;
    cJSON_ArrayForEach (event, r->events) {
        if (strcmp(kb_json_text(event, "type", ""), "counters") != 0)
            continue;
        kb_text_add(r->out, "Source: ");
        kb_report_say(r->out, kb_json_text(event, "source", "?"));
        if (!is_counted(event))
            kb_text_addf(r->out, ", %s passes%s", kb_plain(kb_json_number(event, "passes", NAN)).s,
                         kb_json_bool(event, "cold", false) ? ", cold L2" : "");
        kb_text_add(r->out, ".\n\n");
        kb_text_add(r->out, "| counter | value | of its peak | what |\n|---|---|---|---|\n");
        cJSON_ArrayForEach (metric, kb_json_get(event, "metrics"))
            if (!kb_ends(metric->string, "_reason"))
                counter_row(r, event, metric);
        kb_text_add(r->out, "\n");
        any = true;
    }
    if (!any)
        unknown(r, "counters");
}

static void counted_line(const struct kb_report *r, const cJSON *facts, const char *key, const char *name)
{
    double value = kb_json_number(facts, key, NAN);
    if (isnan(value))
        return;
    kb_text_add(r->out, "|");
    kb_report_cell(r->out, name);
    kb_report_cell(r->out, kb_quantity(value, "").s);
    kb_text_add(r->out, "\n");
}

static void counted(const struct kb_report *r)
{
    const cJSON *facts = kb_json_get(kb_report_last(r, "facts", r->context->headline), "facts");
    if (!facts || is_counted(kb_report_last(r, "counters", -1)))
        return;
    kb_text_add(r->out, "\nCounted exactly by the CPU device, of the PTX, on the headline case:\n\n"
                        "| count | value |\n|---|---|\n");
    counted_line(r, facts, "instructions", "warp instructions");
    counted_line(r, facts, "average_active_lanes", "active lanes an instruction");
    counted_line(r, facts, "global_requests", "requests to global memory");
    counted_line(r, facts, "global_sectors", "32-byte sectors of them");
    counted_line(r, facts, "shared_requests", "requests to shared memory");
    counted_line(r, facts, "shared_bank_conflicts", "further turns by bank conflicts");
    counted_line(r, facts, "divergent_branches", "divergent branches");
    counted_line(r, facts, "barriers", "barriers");
    counted_line(r, facts, "atomics", "atomics");
    counted_line(r, kb_json_get(facts, "bytes"), "global_load", "bytes loaded from global memory");
    counted_line(r, kb_json_get(facts, "bytes"), "global_store", "bytes stored to global memory");
    counted_line(r, kb_json_get(facts, "flops"), "f32", "FLOPs in single precision");
    counted_line(r, kb_json_get(facts, "flops"), "f64", "FLOPs in double precision");
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
    const cJSON *kernel, *kernels = kb_json_get(kb_report_last(r, "resources", -1), "kernels");
    kb_text_add(r->out, "\n## Resources\n\n");
    if (!cJSON_GetArraySize(kernels)) {
        kb_text_add(r->out, "Unknown: nothing was compiled.\n");
        return;
    }
    kb_text_add(r->out, "Source: the compiler; occupancy and blocks from the limits of the device.\n");
    cJSON_ArrayForEach (kernel, kernels) {
        kb_text_add(r->out, "\n- ");
        kb_report_say(r->out, kb_json_text(kernel, "name", "?"));
        for (size_t i = 0; i < KB_COUNT(keys); i++)
            kb_text_addf(r->out, "%s %s %s", i ? "," : ":", keys[i], kb_plain(kb_json_number(kernel, keys[i], NAN)).s);
        kb_text_add(r->out, ", limited by ");
        kb_report_say(r->out, kb_json_text(kernel, "limited_by", "unknown"));
        kb_text_add(r->out, "\n");
    }
}

void kb_report_sass(const struct kb_report *r)
{
    const cJSON *kernel, *class;
    cJSON_ArrayForEach (kernel, kb_json_get(kb_report_last(r, "sass", -1), "kernels")) {
        int n = 0;
        kb_text_add(r->out, "\n## SASS of ");
        kb_report_say(r->out, kb_json_text(kernel, "name", "?"));
        kb_text_addf(r->out, "\n\nSource: nvdisasm. %s instructions, at most %s registers live at once.\n\n",
                     kb_plain(kb_json_number(kernel, "instructions", NAN)).s,
                     kb_plain(kb_json_number(kernel, "live_registers_peak", NAN)).s);
        cJSON_ArrayForEach (class, kb_json_get(kernel, "by_class"))
            if (n++ < MOST_CLASSES)
                kb_text_addf(r->out, "%s%s %s", n > 1 ? ", " : "", class->string, kb_plain(class->valuedouble).s);
        kb_text_add(r->out, ".\n");
    }
}
