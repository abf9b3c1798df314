// report.md: what a version is, whether it is right, how fast, and what limits it; each part says where its numbers
// come from.
#include "base/json.h"
#include "base/memory.h"
#include "bench/rungs.h"
#include "loop/advice.h"
#include "loop/dump_parts.h"
#include "loop/proof.h"
#include "loop/quantity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ERRORS = 20 };

void kb_report_say(struct kb_text *out, const char *text)
{
    char *clean = kb_cleaned(text ? text : "");
    for (const char *p = clean; *p; p++) {
        if (strchr("|<>*`\\[]", *p))
            kb_text_add(out, "\\");
        kb_text_bytes(out, p, 1);
    }
    free(clean);
}

void kb_report_cell(struct kb_text *out, const char *text)
{
    kb_text_add(out, " ");
    kb_report_say(out, text && *text ? text : "-");
    kb_text_add(out, " |");
}

const cJSON *kb_report_last(const struct kb_report *r, const char *type, int index)
{
    const cJSON *event, *found = NULL;
    cJSON_ArrayForEach (event, r->events)
        if (!strcmp(kb_json_text(event, "type", ""), type) && (index < 0 || kb_json_int(event, "case", -1) == index))
            found = event;
    return found;
}

static const cJSON *last_case(const struct kb_report *r, const char *rung, int index)
{
    const cJSON *event, *found = NULL;
    cJSON_ArrayForEach (event, r->events)
        if (!strcmp(kb_json_text(event, "type", ""), "case") && kb_json_int(event, "case", -1) == index &&
            !strcmp(kb_json_text(event, "rung", ""), rung))
            found = event;
    return found;
}

static int cases_of(const struct kb_report *r)
{
    const cJSON *event;
    int most = -1;
    cJSON_ArrayForEach (event, r->events) {
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
    kb_report_say(out, value);
    kb_text_add(out, "\n");
}

static void head(const struct kb_report *r)
{
    const cJSON *compiled = kb_json_get(r->results, "compiled"), *kernel;
    struct kb_text kernels = {0}, how = {0}, device = {0};
    cJSON_ArrayForEach (kernel, kb_json_get(compiled, "kernels"))
        kb_text_addf(&kernels, "%s%s", kernels.size ? ", " : "", kb_json_text(kernel, "name", "?"));
    kb_text_addf(r->out, "# ");
    kb_report_say(r->out, r->context->bench_name ? r->context->bench_name : "bench");
    kb_text_add(r->out, " / ");
    kb_report_say(r->out, kb_json_text(r->record, "variant", "?"));
    kb_text_addf(r->out, ", version %d\n\n", (int)kb_json_int(r->record, "version", 0));
    bullet(r->out, "source", kb_json_text(r->record, "source", NULL));
    bullet(r->out, "hash of the sources", kb_json_text(r->record, "source_hash", NULL));
    bullet(r->out, "git commit", kb_json_text(r->record, "git", NULL));
    bullet(r->out, "kernels", kernels.data);
    if (compiled && !cJSON_IsNull(compiled)) {
        const cJSON *option;
        kb_text_addf(&how, "%s %s for %s", kb_json_text(compiled, "compiler", "?"),
                     kb_json_text(compiled, "compiler_version", "?"), kb_json_text(compiled, "arch", "?"));
        cJSON_ArrayForEach (option, kb_json_get(compiled, "options"))
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

static void ladder_row(const struct kb_report *r, const cJSON *event)
{
    kb_text_add(r->out, "|");
    kb_report_cell(r->out, kb_json_text(event, "rung", "?"));
    kb_report_cell(r->out, kb_json_text(event, "status", "?"));
    double ms = kb_json_number(event, "ms", NAN);
    kb_report_cell(r->out, isnan(ms) ? "-" : kb_plain(ms).s);
    kb_report_cell(r->out, kb_json_text(event, "reason", ""));
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

// Records of before there were verdicts have `done` in its place.
static const cJSON *last_verdict(const struct kb_report *r)
{
    const cJSON *event = kb_report_last(r, "verdict", -1);
    return event ? event : kb_report_last(r, "done", -1);
}

// `races` found it wrong behind its verdict: what was timed before is no speed, and no goal is met by it.
static bool taken_back(const struct kb_report *r)
{
    return !strcmp(kb_json_text(last_verdict(r), "rung", ""), kb_rungs[KB_RUNG_RACES].name);
}

// What the verdict does not stand on.
static void gaps(const struct kb_report *r)
{
    struct kb_ev_proof *p = kb_record_new(&kb_record_proof, kb_report_last(r, "proof", -1));
    if (p && p->gaps_count && !taken_back(r))
        kb_text_add(r->out, "\n");
    for (int i = 0; p && i < p->gaps_count && !taken_back(r); i++) {
        char *text = kb_gap_text(&p->gaps[i]);
        kb_text_add(r->out, "- ");
        kb_report_say(r->out, text);
        kb_text_add(r->out, "\n");
        free(text);
    }
    kb_record_delete(&kb_record_proof, p);
}

static void verdict(const struct kb_report *r)
{
    const cJSON *event, *judged = last_verdict(r), *goal = kb_report_last(r, "goal", -1);
    const char *status = kb_json_text(r->results, "status", "unknown"), *rung = kb_json_text(judged, "rung", NULL);
    kb_text_add(r->out, "\n## Verdict\n\n");
    kb_text_addf(r->out, "**%s**", status);
    if (rung) {
        kb_text_add(r->out, " at ");
        kb_report_say(r->out, rung);
    }
    kb_text_add(r->out, ".");
    if (goal && !taken_back(r)) {
        kb_text_add(r->out, " Goal: ");
        kb_report_say(r->out, kb_json_text(goal, "text", "?"));
        kb_text_add(r->out, ".");
    }
    kb_text_add(r->out, "\n\n| rung | status | ms | reason |\n|---|---|---|---|\n");
    cJSON_ArrayForEach (event, r->events)
        if (!strcmp(kb_json_text(event, "type", ""), "rung") && is_last_of_rung(event))
            ladder_row(r, event);
    gaps(r);
}

static void compile_errors(const struct kb_report *r)
{
    const cJSON *error, *list = kb_json_get(kb_report_last(r, "errors", -1), "errors");
    int n = 0, all = cJSON_GetArraySize(list);
    if (!all)
        return;
    kb_text_add(r->out, "\n## Messages of the compiler\n\n");
    cJSON_ArrayForEach (error, list) {
        if (n++ == MOST_ERRORS)
            break;
        kb_text_add(r->out, "- ");
        kb_report_say(r->out, kb_json_text(error, "file", ""));
        kb_text_addf(r->out, ":%d: ", (int)kb_json_int(error, "line", 0));
        kb_report_say(r->out, kb_json_text(error, "severity", "error"));
        kb_text_add(r->out, ": ");
        kb_report_say(r->out, kb_json_text(error, "text", ""));
        kb_text_add(r->out, "\n");
    }
    if (all > MOST_ERRORS)
        kb_text_addf(r->out, "- and %d more\n", all - MOST_ERRORS);
}

static void findings(const struct kb_report *r)
{
    const cJSON *event, *item;
    bool any = false;
    cJSON_ArrayForEach (event, r->events) {
        if (strcmp(kb_json_text(event, "type", ""), "findings"))
            continue;
        if (!any)
            kb_text_add(r->out, "\n## What the CPU device saw\n\n");
        any = true;
        cJSON_ArrayForEach (item, kb_json_get(event, "findings")) {
            const char *accepted = kb_json_text(item, "accepted", NULL);
            char *line = kb_format(
                "%s:%d: %s: %s (%s, case %s)%s%s", kb_json_text(item, "file", "?"), (int)kb_json_int(item, "line", 0),
                kb_json_text(item, "kind", "?"), kb_json_text(item, "text", ""), kb_json_text(event, "rung", "?"),
                kb_json_text(event, "label", "?"), accepted ? ", accepted: " : "", accepted ? accepted : "");
            kb_text_add(r->out, "- ");
            kb_report_say(r->out, line);
            kb_text_add(r->out, "\n");
            free(line);
        }
    }
}

static void output_row(const struct kb_report *r, const cJSON *event, const cJSON *output)
{
    static const char *const metrics[] = {"max_abs", "max_rel", "rmse", "scaled", "max_ulp", "cosine", "mismatches"};
    const cJSON *m = kb_json_get(output, "metrics"), *tolerance = kb_json_get(output, "tolerance");
    struct kb_text bound = {0};
    kb_text_add(r->out, "|");
    kb_report_cell(r->out, kb_json_text(event, "label", "?"));
    kb_report_cell(r->out, kb_json_text(output, "arg", "?"));
    kb_report_cell(r->out, kb_json_text(output, "status", kb_json_text(event, "status", "?")));
    for (size_t i = 0; i < KB_COUNT(metrics); i++) {
        double value = kb_json_number(m, metrics[i], NAN);
        kb_report_cell(r->out, isnan(value) ? "-" : kb_plain(value).s);
    }
    if (tolerance && !cJSON_IsNull(tolerance))
        kb_text_addf(&bound, "%s <= %s", kb_json_text(tolerance, "metric", "?"),
                     kb_plain(kb_json_number(tolerance, "bound", NAN)).s);
    double margin = kb_json_number(output, "margin", NAN);
    if (!isnan(margin))
        kb_text_addf(&bound, " (%.2f of it)", margin);
    kb_report_cell(r->out, bound.data);
    kb_report_cell(r->out, kb_json_text(output, "reason", kb_json_text(event, "reason", "")));
    kb_text_add(r->out, "\n");
    kb_text_free(&bound);
}

static void errors_by_case(const struct kb_report *r)
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
        cJSON_ArrayForEach (output, kb_json_get(event, "outputs"))
            output_row(r, event, output);
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
    kb_report_cell(out, text.data);
    kb_text_free(&text);
}

static void versus_line(const struct kb_report *r, const cJSON *event)
{
    const cJSON *baseline = kb_json_get(event, "baseline");
    struct kb_text text = {0};
    kb_text_addf(&text, "%s than %s version %d", kb_json_text(event, "verdict", "?"),
                 kb_json_text(baseline, "variant", "?"), (int)kb_json_int(baseline, "version", 0));
    kb_text_addf(&text, ": time ratio %s", kb_plain(kb_json_number(event, "ratio", NAN)).s);
    kb_text_addf(&text, " (%s to ", kb_plain(kb_json_number(event, "low", NAN)).s);
    kb_text_addf(&text, "%s)", kb_plain(kb_json_number(event, "high", NAN)).s);
    kb_text_add(r->out, "\n");
    kb_report_say(r->out, text.data);
    kb_text_add(r->out, kb_json_bool(event, "paired", false) ? ", runs of both taken in turn.\n" : ".\n");
    kb_text_free(&text);
}

static void times(const struct kb_report *r)
{
    const cJSON *timing = NULL, *versus = kb_report_last(r, "versus", r->context->headline);
    kb_text_add(r->out, "\n## Time\n\n");
    for (int i = 0; i < cases_of(r); i++) {
        const cJSON *one = kb_report_last(r, "timing", i), *event = last_case(r, "run", i);
        if (!one)
            continue;
        if (!timing)
            kb_text_add(r->out, "| case | cold L2, us | warm, us | a call, us | source |\n|---|---|---|---|---|\n");
        timing = one;
        kb_text_add(r->out, "|");
        kb_report_cell(r->out, kb_json_text(event, "label", ""));
        interval(r->out, one, "cold");
        interval(r->out, one, "warm");
        kb_report_cell(r->out, kb_plain(kb_json_number(one, "call_us", NAN)).s);
        kb_report_cell(r->out, kb_json_text(one, "source", "not timed"));
        kb_text_add(r->out, "\n");
    }
    if (!timing)
        kb_text_add(r->out, "Unknown: it was not timed.\n");
    if (versus)
        versus_line(r, versus);
}

// What DRAM really moved beside what the roofline was told.
static void counted_bytes(const struct kb_report *r, const cJSON *l)
{
    const cJSON *event;
    double bytes = NAN, told = kb_json_number(l, "bytes", NAN);
    cJSON_ArrayForEach (event, r->events)
        if (!strcmp(kb_json_text(event, "type", ""), "counters"))
            bytes = kb_json_number(kb_json_get(event, "metrics"), "dram_bytes", bytes);
    if (isnan(bytes))
        return;
    kb_text_addf(r->out, "By hardware counters DRAM moved %s", kb_quantity(bytes, "B").s);
    if (told > 0)
        kb_text_addf(r->out, ", %s x that", kb_plain(bytes / told).s);
    kb_text_add(r->out, ".\n");
}

static void roofline(const struct kb_report *r)
{
    const cJSON *l = kb_json_get(kb_report_last(r, "timing", r->context->headline), "roofline");
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
        kb_report_say(r->out, kb_json_text(l, "share_reason", "no rate"));
        kb_text_add(r->out, ". ");
    }
    if (floor_us > 0)
        kb_text_addf(r->out, "No run can beat %s us (%s).", kb_plain(floor_us).s,
                     kb_json_text(l, "floor_source", "from the vendor's peaks"));
    kb_text_add(r->out, "\n\nSource of bytes and FLOPs: ");
    kb_report_say(r->out, kb_json_text(l, "source", "unknown"));
    kb_text_add(r->out, ".\n");
    counted_bytes(r, l);
}

static void say_advice(const struct kb_report *r, const struct kb_advice *a)
{
    kb_text_addf(r->out, "Dominant limit: **%s**", kb_limit_name(a->limit));
    if (a->limit != KB_LIMIT_UNKNOWN)
        kb_text_addf(r->out, " (evidence: %s)", kb_confidence_name(a->confidence));
    kb_text_add(r->out, ".\n\n");
    for (int i = 0; i < a->list_count; i++) {
        kb_text_add(r->out, "- ");
        kb_report_say(r->out, a->list[i].text);
        kb_text_add(r->out, " (");
        kb_evidence_names(a->list[i].kinds, r->out);
        kb_text_add(r->out, ")\n");
    }
    if (a->step_count)
        kb_text_add(r->out, "\nWhat to try:\n\n");
    for (int i = 0; i < a->step_count; i++) {
        kb_text_addf(r->out, "%d. ", i + 1);
        kb_report_say(r->out, a->steps[i].text);
        kb_text_add(r->out, "\n");
    }
    if (a->missing) {
        kb_text_add(r->out, "\nMissing for more: ");
        kb_report_say(r->out, a->missing);
        kb_text_add(r->out, ".\n");
    }
}

static void advice(const struct kb_report *r)
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
    kb_advice_input_free(&in);
}

static void files(const struct kb_report *r)
{
    if (!r->context->file_count)
        return;
    kb_text_add(r->out, "\n## Files\n\n");
    for (int i = 0; i < r->context->file_count; i++) {
        kb_text_add(r->out, "- ");
        kb_report_say(r->out, r->context->files[i]);
        kb_text_add(r->out, "\n");
    }
}

void kb_dump_report(const cJSON *record, const struct kb_report_context *context, struct kb_text *out)
{
    struct kb_report r = {.record = record, .results = kb_json_get(record, "results"), .context = context, .out = out};
    r.events = kb_json_get(r.results, "events");
    r.device = kb_json_get(r.results, "device");
    head(&r);
    verdict(&r);
    compile_errors(&r);
    errors_by_case(&r);
    findings(&r);
    if (!taken_back(&r)) {
        times(&r);
        roofline(&r);
    }
    advice(&r);
    kb_report_sections(&r);
    kb_report_counters(&r);
    kb_report_resources(&r);
    kb_report_sass(&r);
    files(&r);
}
