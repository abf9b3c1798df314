// report.md: what a version is, whether it is right, how fast, and why; each part says where its numbers come from.
#include "base/json.h"
#include "base/memory.h"
#include "loop/advice.h"
#include "loop/dump.h"
#include "loop/quantity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ERRORS = 20, MOST_LINES = 12, MOST_CLASSES = 24 };

struct report {
    const cJSON *record, *results, *events, *device;
    const struct kb_report_context *context;
    struct kb_text *out;
};

// Foreign text inside a table or a paragraph: clean, on one line, no markup of its own.
static void say(struct kb_text *out, const char *text)
{
    char *clean = kb_cleaned(text ? text : "");
    for (const char *p = clean; *p; p++) {
        if (strchr("|<>*`\\[]", *p))
            kb_text_add(out, "\\");
        kb_text_bytes(out, p, 1);
    }
    free(clean);
}

static void cell(struct kb_text *out, const char *text)
{
    kb_text_add(out, " ");
    say(out, text && *text ? text : "-");
    kb_text_add(out, " |");
}

// The last event of a type; of one case (-1: any).
static const cJSON *last(const struct report *r, const char *type, int index)
{
    const cJSON *event, *found = NULL;
    cJSON_ArrayForEach(event, r->events) if (!strcmp(kb_json_text(event, "type", ""), type) &&
                                             (index < 0 || kb_json_int(event, "case", -1) == index)) found = event;
    return found;
}

static const cJSON *last_case(const struct report *r, const char *rung, int index)
{
    const cJSON *event, *found = NULL;
    cJSON_ArrayForEach(event, r->events) if (!strcmp(kb_json_text(event, "type", ""), "case") &&
                                             kb_json_int(event, "case", -1) == index &&
                                             !strcmp(kb_json_text(event, "rung", ""), rung)) found = event;
    return found;
}

static int cases_of(const struct report *r)
{
    const cJSON *event;
    int most = -1;
    cJSON_ArrayForEach(event, r->events)
    {
        int index = (int)kb_json_int(event, "case", -1);
        most = index > most ? index : most;
    }
    return most + 1;
}

static void bullet(struct kb_text *out, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    kb_text_addf(out, "- %s: ", name);
    say(out, value);
    kb_text_add(out, "\n");
}

static void head(const struct report *r)
{
    const cJSON *compiled = kb_json_get(r->results, "compiled"), *kernel;
    struct kb_text kernels = {0}, how = {0}, device = {0};
    cJSON_ArrayForEach(kernel, kb_json_get(compiled, "kernels"))
        kb_text_addf(&kernels, "%s%s", kernels.size ? ", " : "", kb_json_text(kernel, "name", "?"));
    kb_text_addf(r->out, "# ");
    say(r->out, r->context->bench_name ? r->context->bench_name : "bench");
    kb_text_add(r->out, " / ");
    say(r->out, kb_json_text(r->record, "variant", "?"));
    kb_text_addf(r->out, ", version %d\n\n", (int)kb_json_int(r->record, "version", 0));
    bullet(r->out, "source", kb_json_text(r->record, "source", NULL));
    bullet(r->out, "hash of the sources", kb_json_text(r->record, "source_hash", NULL));
    bullet(r->out, "git commit", kb_json_text(r->record, "git", NULL));
    bullet(r->out, "kernels", kernels.data);
    if (compiled && !cJSON_IsNull(compiled)) {
        const cJSON *option;
        kb_text_addf(&how, "%s %s for %s", kb_json_text(compiled, "compiler", "?"),
                     kb_json_text(compiled, "compiler_version", "?"), kb_json_text(compiled, "arch", "?"));
        cJSON_ArrayForEach(option, kb_json_get(compiled, "options"))
            kb_text_addf(&how, " %s", cJSON_IsString(option) ? option->valuestring : "?");
        bullet(r->out, "compiled by", how.data);
    }
    if (r->device && !cJSON_IsNull(r->device)) {
        kb_text_addf(&device, "%s", kb_json_text(r->device, "name", "?"));
        if (kb_json_text(r->device, "driver", NULL))
            kb_text_addf(&device, ", driver %s", kb_json_text(r->device, "driver", ""));
        bullet(r->out, "device", device.data);
    }
    bullet(r->out, "built", kb_json_text(r->record, "utc", NULL));
    bullet(r->out, "results of", kb_json_text(r->results, "utc", NULL));
    bullet(r->out, "contract", kb_json_text(r->results, "contract", NULL));
    bullet(r->out, "seed of the inputs", kb_json_text(r->results, "seed", NULL));
    bullet(r->out, "tool", kb_json_text(r->record, "tool", NULL));
    kb_text_free(&kernels);
    kb_text_free(&how);
    kb_text_free(&device);
}

static void ladder_row(const struct report *r, const cJSON *event)
{
    kb_text_add(r->out, "|");
    cell(r->out, kb_json_text(event, "rung", "?"));
    cell(r->out, kb_json_text(event, "status", "?"));
    double ms = kb_json_number(event, "ms", NAN);
    cell(r->out, isnan(ms) ? "-" : kb_plain(ms).s);
    cell(r->out, kb_json_text(event, "reason", ""));
    kb_text_add(r->out, "\n");
}

// Is this the last word on its rung?
static bool is_last_of_rung(const cJSON *event)
{
    const char *rung = kb_json_text(event, "rung", "");
    for (const cJSON *next = event->next; next; next = next->next)
        if (!strcmp(kb_json_text(next, "type", ""), "rung") && !strcmp(kb_json_text(next, "rung", ""), rung))
            return false;
    return true;
}

static void verdict(const struct report *r)
{
    const cJSON *event, *done = last(r, "done", -1), *goal = last(r, "goal", -1);
    const char *status = kb_json_text(r->results, "status", "unknown"), *rung = kb_json_text(done, "rung", NULL);
    kb_text_add(r->out, "\n## Verdict\n\n");
    kb_text_addf(r->out, "**%s**", status);
    if (rung) {
        kb_text_add(r->out, " at ");
        say(r->out, rung);
    }
    kb_text_add(r->out, ".");
    if (goal) {
        kb_text_add(r->out, " Goal: ");
        say(r->out, kb_json_text(goal, "text", "?"));
        kb_text_add(r->out, ".");
    }
    kb_text_add(r->out, "\n\n| rung | status | ms | reason |\n|---|---|---|---|\n");
    cJSON_ArrayForEach(event, r->events) if (!strcmp(kb_json_text(event, "type", ""), "rung") && is_last_of_rung(event))
        ladder_row(r, event);
}

static void compile_errors(const struct report *r)
{
    const cJSON *error, *list = kb_json_get(last(r, "errors", -1), "errors");
    int n = 0, all = cJSON_GetArraySize(list);
    if (!all)
        return;
    kb_text_add(r->out, "\n## Messages of the compiler\n\n");
    cJSON_ArrayForEach(error, list)
    {
        if (n++ == MOST_ERRORS)
            break;
        kb_text_add(r->out, "- ");
        say(r->out, kb_json_text(error, "file", ""));
        kb_text_addf(r->out, ":%d: ", (int)kb_json_int(error, "line", 0));
        say(r->out, kb_json_text(error, "severity", "error"));
        kb_text_add(r->out, ": ");
        say(r->out, kb_json_text(error, "text", ""));
        kb_text_add(r->out, "\n");
    }
    if (all > MOST_ERRORS)
        kb_text_addf(r->out, "- and %d more\n", all - MOST_ERRORS);
}

static void output_row(const struct report *r, const cJSON *event, const cJSON *output)
{
    static const char *const metrics[] = {"max_abs", "max_rel", "rmse", "scaled", "max_ulp", "cosine", "mismatches"};
    const cJSON *m = kb_json_get(output, "metrics"), *tolerance = kb_json_get(output, "tolerance");
    struct kb_text bound = {0};
    kb_text_add(r->out, "|");
    cell(r->out, kb_json_text(event, "label", "?"));
    cell(r->out, kb_json_text(output, "arg", "?"));
    cell(r->out, kb_json_text(output, "status", kb_json_text(event, "status", "?")));
    for (size_t i = 0; i < KB_COUNT(metrics); i++) {
        double value = kb_json_number(m, metrics[i], NAN);
        cell(r->out, isnan(value) ? "-" : kb_plain(value).s);
    }
    if (tolerance && !cJSON_IsNull(tolerance))
        kb_text_addf(&bound, "%s <= %s", kb_json_text(tolerance, "metric", "?"),
                     kb_plain(kb_json_number(tolerance, "bound", NAN)).s);
    cell(r->out, bound.data);
    cell(r->out, kb_json_text(output, "reason", kb_json_text(event, "reason", "")));
    kb_text_add(r->out, "\n");
    kb_text_free(&bound);
}

static void errors_by_case(const struct report *r)
{
    bool any = false;
    for (int i = 0; i < cases_of(r); i++) {
        const cJSON *output, *event = last_case(r, "verify", i);
        event = event ? event : last_case(r, "run", i);
        if (event && !any)
            kb_text_add(r->out, "\n## Errors by case\n\nSource: every element compared with the reference.\n\n"
                                "| case | output | status | max_abs | max_rel | rmse | scaled | max_ulp | cosine | "
                                "mismatches | bound | reason |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
        any = any || event;
        cJSON_ArrayForEach(output, kb_json_get(event, "outputs")) output_row(r, event, output);
    }
    if (!any)
        kb_text_add(r->out, "\n## Errors by case\n\nUnknown: nothing was run.\n");
}

static void interval(struct kb_text *out, const cJSON *timing, const char *key)
{
    const cJSON *s = kb_json_get(timing, key);
    struct kb_text text = {0};
    if (cJSON_IsObject(s)) {
        kb_text_addf(&text, "%s", kb_plain(kb_json_number(s, "median_us", NAN)).s);
        kb_text_addf(&text, " (%s to ", kb_plain(kb_json_number(s, "low_us", NAN)).s);
        kb_text_addf(&text, "%s, %s samples)", kb_plain(kb_json_number(s, "high_us", NAN)).s,
                     kb_plain(kb_json_number(s, "samples", NAN)).s);
    } else {
        char *reason = kb_format("%s_reason", key);
        kb_text_addf(&text, "unknown: %s", kb_json_text(timing, reason, "not measured"));
        free(reason);
    }
    cell(out, text.data);
    kb_text_free(&text);
}

static void versus_line(const struct report *r, const cJSON *event)
{
    const cJSON *baseline = kb_json_get(event, "baseline");
    struct kb_text text = {0};
    kb_text_addf(&text, "%s than %s version %d", kb_json_text(event, "verdict", "?"),
                 kb_json_text(baseline, "variant", "?"), (int)kb_json_int(baseline, "version", 0));
    kb_text_addf(&text, ": time ratio %s", kb_plain(kb_json_number(event, "ratio", NAN)).s);
    kb_text_addf(&text, " (%s to ", kb_plain(kb_json_number(event, "low", NAN)).s);
    kb_text_addf(&text, "%s)", kb_plain(kb_json_number(event, "high", NAN)).s);
    kb_text_add(r->out, "\n");
    say(r->out, text.data);
    kb_text_add(r->out, kb_json_bool(event, "paired", false) ? ", runs of both taken in turn.\n" : ".\n");
    kb_text_free(&text);
}

static void times(const struct report *r)
{
    const cJSON *timing = NULL, *versus = last(r, "versus", r->context->headline);
    kb_text_add(r->out, "\n## Time\n\n");
    for (int i = 0; i < cases_of(r); i++) {
        const cJSON *one = last(r, "timing", i), *event = last_case(r, "run", i);
        if (!one)
            continue;
        if (!timing)
            kb_text_add(r->out, "| case | cold L2, us | warm, us | a call, us | source |\n|---|---|---|---|---|\n");
        timing = one;
        kb_text_add(r->out, "|");
        cell(r->out, kb_json_text(event, "label", ""));
        interval(r->out, one, "cold");
        interval(r->out, one, "warm");
        cell(r->out, kb_plain(kb_json_number(one, "call_us", NAN)).s);
        cell(r->out, kb_json_text(one, "source", "not timed"));
        kb_text_add(r->out, "\n");
    }
    if (!timing)
        kb_text_add(r->out, "Unknown: it was not timed.\n");
    if (versus)
        versus_line(r, versus);
}

// What DRAM really moved beside what the roofline was told.
static void counted_bytes(const struct report *r, const cJSON *l)
{
    const cJSON *event;
    double bytes = NAN, told = kb_json_number(l, "bytes", NAN);
    cJSON_ArrayForEach(event, r->events) if (!strcmp(kb_json_text(event, "type", ""), "counters")) bytes =
        kb_json_number(kb_json_get(event, "metrics"), "dram_bytes", bytes);
    if (isnan(bytes))
        return;
    kb_text_addf(r->out, "By hardware counters DRAM moved %s", kb_quantity(bytes, "B").s);
    if (told > 0)
        kb_text_addf(r->out, ", %s x that", kb_plain(bytes / told).s);
    kb_text_add(r->out, ".\n");
}

static void roofline(const struct report *r)
{
    const cJSON *l = kb_json_get(last(r, "timing", r->context->headline), "roofline");
    double share = kb_json_number(l, "share", NAN), rate = kb_json_number(l, "attained_bytes_per_s", NAN),
           flops = kb_json_number(l, "attained_flops", NAN), floor_us = kb_json_number(l, "floor_us", NAN);
    const char *bound = kb_json_text(l, "bound", "unknown");
    kb_text_add(r->out, "\n## Roofline\n\n");
    if (!l) {
        kb_text_add(r->out, "Unknown: it was not timed.\n");
        return;
    }
    kb_text_addf(r->out, "%s and %s", kb_quantity(kb_json_number(l, "bytes", NAN), "B").s,
                 kb_quantity(kb_json_number(l, "flops", NAN), "FLOP").s);
    kb_text_addf(r->out, ", %s FLOP a byte: under the %s roof. ", kb_plain(kb_json_number(l, "intensity", NAN)).s,
                 strcmp(bound, "compute") ? bound : "arithmetic");
    if (kb_json_bool(l, "impossible", false))
        kb_text_add(r->out, "**The measured time is impossible**: less than the vendor's peaks allow. ");
    else if (share > 0)
        kb_text_addf(r->out, "It attains %s (%s), %s of that roof; at most %s x is left. ", kb_quantity(rate, "B/s").s,
                     kb_quantity(flops, "FLOP/s").s, kb_percent(share).s, kb_plain(round(100 / share) / 100).s);
    else {
        kb_text_add(r->out, "What it attains is unknown: ");
        say(r->out, kb_json_text(l, "share_reason", "no rate"));
        kb_text_add(r->out, ". ");
    }
    if (floor_us > 0)
        kb_text_addf(r->out, "No run can beat %s us (%s).", kb_plain(floor_us).s,
                     kb_json_text(l, "floor_source", "from the vendor's peaks"));
    kb_text_add(r->out, "\n\nSource of bytes and FLOPs: ");
    say(r->out, kb_json_text(l, "source", "unknown"));
    kb_text_add(r->out, ".\n");
    counted_bytes(r, l);
}

static const char *reason_of_rung(const struct report *r, const char *rung)
{
    const cJSON *event;
    const char *reason = "not measured";
    cJSON_ArrayForEach(event, r->events) if (!strcmp(kb_json_text(event, "type", ""), "rung") &&
                                             !strcmp(kb_json_text(event, "rung", ""), rung)) reason =
        kb_json_text(event, "reason", "not measured");
    return reason;
}

static void unknown(const struct report *r, const char *rung)
{
    kb_text_add(r->out, "Unknown: ");
    say(r->out, reason_of_rung(r, rung));
    kb_text_add(r->out, ".\n");
}

static void stalls_cell(const struct report *r, const cJSON *row)
{
    const cJSON *stall;
    struct kb_text text = {0};
    int n = 0;
    cJSON_ArrayForEach(stall, kb_json_get(row, "stalls")) if (n++ < 3)
        kb_text_addf(&text, "%s%s %s", text.size ? ", " : "", kb_json_text(stall, "group", "?"),
                     kb_percent(kb_json_number(stall, "share", NAN)).s);
    cell(r->out, text.data);
    kb_text_free(&text);
}

static void section_rows(const struct report *r, const cJSON *rows)
{
    const cJSON *row;
    kb_text_add(r->out, "\n| section | lines | share | us | waits |\n|---|---|---|---|---|\n");
    cJSON_ArrayForEach(row, rows)
    {
        char *lines = kb_json_int(row, "line", 0)
                          ? kb_format("%d-%d", (int)kb_json_int(row, "line", 0), (int)kb_json_int(row, "end_line", 0))
                          : kb_strdup("-");
        kb_text_add(r->out, "|");
        cell(r->out, kb_json_text(row, "name", "?"));
        cell(r->out, lines);
        cell(r->out, kb_percent(kb_json_number(row, "share", NAN)).s);
        cell(r->out, kb_plain(kb_json_number(row, "us", NAN)).s);
        stalls_cell(r, row);
        kb_text_add(r->out, "\n");
        free(lines);
    }
}

static bool is_counted(const cJSON *event)
{
    return kb_starts(kb_json_text(event, "source", ""), "counted");
}

static void line_rows(const struct report *r, const cJSON *lines, const char *key)
{
    const cJSON *line;
    int n = 0;
    kb_text_addf(r->out, "\n| line | %s | waits |\n|---|---|---|\n", key);
    cJSON_ArrayForEach(line, lines)
    {
        if (n++ == MOST_LINES)
            break;
        char *place = kb_format("%s:%d", kb_json_text(line, "file", "?"), (int)kb_json_int(line, "line", 0));
        kb_text_add(r->out, "|");
        cell(r->out, place);
        cell(r->out, kb_plain(kb_json_number(line, key, NAN)).s);
        stalls_cell(r, line);
        kb_text_add(r->out, "\n");
        free(place);
    }
}

static void sections(const struct report *r)
{
    const cJSON *s = last(r, "sections", -1), *rows = kb_json_get(s, "sections");
    kb_text_add(r->out, "\n## Sections\n\n");
    if (!s) {
        unknown(r, "sections");
        return;
    }
    kb_text_add(r->out, "Source: ");
    if (!is_counted(s))
        kb_text_addf(r->out, "%s samples by ", kb_plain(kb_json_number(s, "samples", NAN)).s);
    say(r->out, kb_json_text(s, "source", "?"));
    if (!is_counted(s))
        kb_text_addf(r->out, " (%s dropped)", kb_plain(kb_json_number(s, "dropped", NAN)).s);
    kb_text_add(r->out, "; ");
    say(r->out, kb_json_text(s, "attribution", "shares of the samples"));
    kb_text_add(r->out, ".\n");
    section_rows(r, cJSON_GetArraySize(rows) ? rows : kb_json_get(s, "functions"));
    line_rows(r, kb_json_get(s, "lines"), is_counted(s) ? "instructions" : "samples");
}

static void counter_row(const struct report *r, const cJSON *event, const cJSON *metric)
{
    const cJSON *about = kb_json_get(kb_json_get(event, "about"), metric->string);
    double time_us = kb_json_number(kb_json_get(last(r, "timing", r->context->headline), "cold"), "median_us", NAN);
    double peak = kb_json_number(kb_json_get(event, "peaks"), kb_json_text(about, "peak", ""), NAN),
           best = kb_json_number(about, "best", NAN), value = cJSON_IsNumber(metric) ? metric->valuedouble : NAN;
    double share = !isnan(peak) ? value / time_us * 1e6 / peak : value / best;
    char *why = kb_format("%s_reason", metric->string);
    kb_text_add(r->out, "|");
    cell(r->out, metric->string);
    if (isnan(value))
        cell(r->out, kb_json_text(kb_json_get(event, "metrics"), why, "unknown"));
    else
        cell(r->out, kb_quantity(value, kb_json_text(about, "unit", "")).s);
    cell(r->out, isnan(share) ? "-" : kb_percent(share).s);
    cell(r->out, kb_json_text(about, "about", ""));
    kb_text_add(r->out, "\n");
    free(why);
}

static void hardware_counters(const struct report *r)
{
    const cJSON *event, *metric;
    bool any = false;
    cJSON_ArrayForEach(event, r->events)
    {
        if (strcmp(kb_json_text(event, "type", ""), "counters") != 0)
            continue;
        kb_text_add(r->out, "Source: ");
        say(r->out, kb_json_text(event, "source", "?"));
        if (!is_counted(event))
            kb_text_addf(r->out, ", %s passes%s", kb_plain(kb_json_number(event, "passes", NAN)).s,
                         kb_json_bool(event, "cold", false) ? ", cold L2" : "");
        kb_text_add(r->out, ".\n\n");
        kb_text_add(r->out, "| counter | value | of its peak | what |\n|---|---|---|---|\n");
        cJSON_ArrayForEach(metric, kb_json_get(event, "metrics")) if (!kb_ends(metric->string, "_reason"))
            counter_row(r, event, metric);
        kb_text_add(r->out, "\n");
        any = true;
    }
    if (!any)
        unknown(r, "counters");
}

static void counted_line(const struct report *r, const cJSON *facts, const char *key, const char *name)
{
    double value = kb_json_number(facts, key, NAN);
    if (isnan(value))
        return;
    kb_text_add(r->out, "|");
    cell(r->out, name);
    cell(r->out, kb_quantity(value, "").s);
    kb_text_add(r->out, "\n");
}

static void counted(const struct report *r)
{
    const cJSON *facts = kb_json_get(last(r, "facts", r->context->headline), "facts");
    if (!facts || is_counted(last(r, "counters", -1)))
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

static void counters(const struct report *r)
{
    kb_text_add(r->out, "\n## Counters\n\n");
    hardware_counters(r);
    counted(r);
}

static void resources(const struct report *r)
{
    static const char *const keys[] = {
        "registers",   "spill_store_bytes", "spill_load_bytes", "shared_bytes",  "dynamic_shared_bytes",
        "stack_bytes", "block_threads",     "blocks",           "blocks_per_sm", "occupancy"};
    const cJSON *kernel, *kernels = kb_json_get(last(r, "resources", -1), "kernels");
    kb_text_add(r->out, "\n## Resources\n\n");
    if (!cJSON_GetArraySize(kernels)) {
        kb_text_add(r->out, "Unknown: nothing was compiled.\n");
        return;
    }
    kb_text_add(r->out, "Source: the compiler; occupancy and blocks from the limits of the device.\n");
    cJSON_ArrayForEach(kernel, kernels)
    {
        kb_text_add(r->out, "\n- ");
        say(r->out, kb_json_text(kernel, "name", "?"));
        for (size_t i = 0; i < KB_COUNT(keys); i++)
            kb_text_addf(r->out, "%s %s %s", i ? "," : ":", keys[i], kb_plain(kb_json_number(kernel, keys[i], NAN)).s);
        kb_text_add(r->out, ", limited by ");
        say(r->out, kb_json_text(kernel, "limited_by", "unknown"));
        kb_text_add(r->out, "\n");
    }
}

static void sass(const struct report *r)
{
    const cJSON *kernel, *class;
    cJSON_ArrayForEach(kernel, kb_json_get(last(r, "sass", -1), "kernels"))
    {
        int n = 0;
        kb_text_add(r->out, "\n## SASS of ");
        say(r->out, kb_json_text(kernel, "name", "?"));
        kb_text_addf(r->out, "\n\nSource: nvdisasm. %s instructions, at most %s registers live at once.\n\n",
                     kb_plain(kb_json_number(kernel, "instructions", NAN)).s,
                     kb_plain(kb_json_number(kernel, "live_registers_peak", NAN)).s);
        cJSON_ArrayForEach(class, kb_json_get(kernel, "by_class")) if (n++ < MOST_CLASSES)
            kb_text_addf(r->out, "%s%s %s", n > 1 ? ", " : "", class->string, kb_plain(class->valuedouble).s);
        kb_text_add(r->out, ".\n");
    }
}

static void say_advice(const struct report *r, const struct kb_advice *a)
{
    kb_text_addf(r->out, "Dominant limit: **%s**", kb_limit_name(a->limit));
    if (a->limit != KB_LIMIT_UNKNOWN)
        kb_text_addf(r->out, " (evidence: %s)", kb_confidence_name(a->confidence));
    kb_text_add(r->out, ".\n\n");
    for (int i = 0; i < a->list_count; i++) {
        kb_text_add(r->out, "- ");
        say(r->out, a->list[i].text);
        kb_text_add(r->out, " (");
        kb_evidence_names(a->list[i].kinds, r->out);
        kb_text_add(r->out, ")\n");
    }
    if (a->step_count)
        kb_text_add(r->out, "\nWhat to try:\n\n");
    for (int i = 0; i < a->step_count; i++) {
        kb_text_addf(r->out, "%d. ", i + 1);
        say(r->out, a->steps[i].text);
        kb_text_add(r->out, "\n");
    }
    if (a->missing) {
        kb_text_add(r->out, "\nMissing for more: ");
        say(r->out, a->missing);
        kb_text_add(r->out, ".\n");
    }
}

static void advice(const struct report *r)
{
    struct kb_advice_input in;
    struct kb_advice a;
    kb_advice_gather(r->events, r->context->headline, &in);
    in.device = r->device;
    in.args = r->context->args;
    in.source = r->context->source;
    bool wrong = !strcmp(kb_json_text(r->results, "status", ""), "fail");
    if (wrong)
        in.timing = NULL; // a wrong version has no speed
    kb_advice_make(&in, &a);
    kb_text_add(r->out, "\n## What limits it\n\n");
    if (wrong)
        kb_text_add(r->out, "This version is not right: make it right before it is made fast.\n\n");
    say_advice(r, &a);
    kb_advice_free(&a);
}

static void files(const struct report *r)
{
    if (!r->context->file_count)
        return;
    kb_text_add(r->out, "\n## Files\n\n");
    for (int i = 0; i < r->context->file_count; i++) {
        kb_text_add(r->out, "- ");
        say(r->out, r->context->files[i]);
        kb_text_add(r->out, "\n");
    }
}

void kb_dump_report(const cJSON *record, const struct kb_report_context *context, struct kb_text *out)
{
    struct report r = {.record = record, .results = kb_json_get(record, "results"), .context = context, .out = out};
    r.events = kb_json_get(r.results, "events");
    r.device = kb_json_get(r.results, "device");
    head(&r);
    verdict(&r);
    compile_errors(&r);
    errors_by_case(&r);
    times(&r);
    roofline(&r);
    advice(&r);
    sections(&r);
    counters(&r);
    resources(&r);
    sass(&r);
    files(&r);
}
