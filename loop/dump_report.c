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

const void *kb_report_last(const struct kb_report *r, enum kb_event_type type, int index)
{
    for (int i = r->events.count - 1; i >= 0; i--) {
        const struct kb_event *e = &r->events.items[i];
        if (e->type == type && (index < 0 || kb_event_case(e) == index))
            return e->body;
    }
    return NULL;
}

static bool is(const char *text, const char *wanted)
{
    return text && !strcmp(text, wanted);
}

static const struct kb_ev_case *last_case(const struct kb_report *r, const char *rung, int index)
{
    for (int i = r->events.count - 1; i >= 0; i--) {
        const struct kb_ev_case *c = r->events.items[i].body;
        if (r->events.items[i].type == KB_EVENT_case && c->index == index && is(c->rung, rung))
            return c;
    }
    return NULL;
}

static int cases_of(const struct kb_report *r)
{
    int64_t most = -1;
    for (int i = 0; i < r->events.count; i++) {
        int64_t index = kb_event_case(&r->events.items[i]);
        most = index > most ? index : most;
    }
    return (int)most + 1;
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
    if (r->device) {
        kb_text_addf(&device, "%s", r->device->name ?: "?");
        if (r->device->driver)
            kb_text_addf(&device, ", driver %s", r->device->driver);
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

static void ladder_row(const struct kb_report *r, const struct kb_ev_rung *rung)
{
    kb_text_add(r->out, "|");
    kb_report_cell(r->out, rung->rung ?: "?");
    kb_report_cell(r->out, rung->status ?: "?");
    kb_report_cell(r->out, isnan(rung->ms) ? "-" : kb_plain(rung->ms).s);
    kb_report_cell(r->out, rung->reason);
    kb_text_add(r->out, "\n");
}

const struct kb_ev_rung *kb_report_rung(const struct kb_report *r, const char *rung)
{
    for (int i = r->events.count - 1; i >= 0; i--) {
        const struct kb_ev_rung *event = r->events.items[i].body;
        if (r->events.items[i].type == KB_EVENT_rung && is(event->rung, rung))
            return event;
    }
    return NULL;
}

// Records of before there were verdicts have `done` in its place.
static const struct kb_ev_verdict *last_verdict(const struct kb_report *r)
{
    for (int i = r->events.count - 1; i >= 0; i--)
        if (r->events.items[i].type == KB_EVENT_verdict && !r->events.items[i].again)
            return r->events.items[i].body;
    return KB_LAST(r, verdict, -1) ?: &kb_unknown_verdict;
}

// `races` found it wrong behind its verdict: what was timed before is no speed, and no goal is met by it.
static bool taken_back(const struct kb_report *r)
{
    return is(last_verdict(r)->rung, kb_rungs[KB_RUNG_RACES].name);
}

// What the verdict does not stand on.
static void gaps(const struct kb_report *r)
{
    const struct kb_ev_proof *p = KB_LAST(r, proof, -1);
    if (p && p->gaps_count && !taken_back(r))
        kb_text_add(r->out, "\n");
    for (int i = 0; p && i < p->gaps_count && !taken_back(r); i++) {
        char *text = kb_gap_text(&p->gaps[i]);
        kb_text_add(r->out, "- ");
        kb_report_say(r->out, text);
        kb_text_add(r->out, "\n");
        free(text);
    }
}

static void verdict(const struct kb_report *r)
{
    const struct kb_ev_goal *goal = KB_LAST(r, goal, -1);
    const char *status = kb_json_text(r->results, "status", "unknown"), *rung = last_verdict(r)->rung;
    kb_text_add(r->out, "\n## Verdict\n\n");
    kb_text_addf(r->out, "**%s**", status);
    if (rung) {
        kb_text_add(r->out, " at ");
        kb_report_say(r->out, rung);
    }
    kb_text_add(r->out, ".");
    if (goal && !taken_back(r)) {
        kb_text_add(r->out, " Goal: ");
        kb_report_say(r->out, goal->text ?: "?");
        kb_text_add(r->out, ".");
    }
    kb_text_add(r->out, "\n\n| rung | status | ms | reason |\n|---|---|---|---|\n");
    for (int i = 0; i < r->events.count; i++) {
        const struct kb_ev_rung *event = r->events.items[i].body;
        if (r->events.items[i].type == KB_EVENT_rung && event == kb_report_rung(r, event->rung ?: ""))
            ladder_row(r, event);
    }
    gaps(r);
}

static void compile_errors(const struct kb_report *r)
{
    const struct kb_ev_errors *e = KB_LAST(r, errors, -1) ?: &kb_unknown_errors;
    if (e->errors_count)
        kb_text_add(r->out, "\n## Messages of the compiler\n\n");
    for (int i = 0; i < e->errors_count && i < MOST_ERRORS; i++) {
        const struct kb_ev_message *m = &e->errors[i];
        kb_text_add(r->out, "- ");
        kb_report_say(r->out, m->file);
        kb_text_addf(r->out, ":%d: ", (int)m->line);
        kb_report_say(r->out, m->severity ?: "error");
        kb_text_add(r->out, ": ");
        kb_report_say(r->out, m->text);
        kb_text_add(r->out, "\n");
    }
    if (e->errors_count > MOST_ERRORS)
        kb_text_addf(r->out, "- and %d more\n", e->errors_count - MOST_ERRORS);
}

static void findings(const struct kb_report *r)
{
    if (KB_LAST(r, findings, -1))
        kb_text_add(r->out, "\n## What the CPU device saw\n\n");
    for (int i = 0; i < r->events.count; i++) {
        const struct kb_ev_findings *event = r->events.items[i].body;
        for (int k = 0; r->events.items[i].type == KB_EVENT_findings && k < event->findings_count; k++) {
            const struct kb_ev_finding *f = &event->findings[k];
            char *line = kb_format("%s:%d: %s: %s (%s, case %s)%s%s", f->file ?: "?", (int)f->line, f->kind ?: "?",
                                   f->text ?: "", event->rung ?: "?", event->label ?: "?",
                                   f->accepted ? ", accepted: " : "", f->accepted ?: "");
            kb_text_add(r->out, "- ");
            kb_report_say(r->out, line);
            kb_text_add(r->out, "\n");
            free(line);
        }
    }
}

static void output_row(const struct kb_report *r, const struct kb_ev_case *event, const struct kb_ev_output *output)
{
    static const char *const metrics[] = {"max_abs", "max_rel", "rmse", "scaled", "max_ulp", "cosine", "mismatches"};
    struct kb_text bound = {0};
    kb_text_add(r->out, "|");
    kb_report_cell(r->out, event->label ?: "?");
    kb_report_cell(r->out, output->arg ?: "?");
    kb_report_cell(r->out, output->status ?: event->status ?: "?");
    for (size_t i = 0; i < KB_COUNT(metrics); i++) {
        double value = kb_record_number(&kb_record_metrics, output->metrics ?: &kb_unknown_metrics, metrics[i]);
        kb_report_cell(r->out, isnan(value) ? "-" : kb_plain(value).s);
    }
    if (output->tolerance)
        kb_text_addf(&bound, "%s <= %s", output->tolerance->metric ?: "?", kb_plain(output->tolerance->bound).s);
    if (!isnan(output->margin))
        kb_text_addf(&bound, " (%.2f of it)", output->margin);
    kb_report_cell(r->out, bound.data);
    kb_report_cell(r->out, output->reason ?: event->reason);
    kb_text_add(r->out, "\n");
    kb_text_free(&bound);
}

static void errors_by_case(const struct kb_report *r)
{
    bool any = false;
    for (int i = 0; i < cases_of(r); i++) {
        const struct kb_ev_case *event = last_case(r, "verify", i) ?: last_case(r, "run", i);
        if (event && !any)
            kb_text_add(r->out, "\n## Errors by case\n\nSource: every element compared with the reference.\n\n"
                                "| case | output | status | max_abs | max_rel | rmse | scaled | max_ulp | cosine | "
                                "mismatches | bound | reason |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
        any = any || event;
        for (int k = 0; event && k < event->outputs_count; k++)
            output_row(r, event, &event->outputs[k]);
    }
    if (!any)
        kb_text_add(r->out, "\n## Errors by case\n\nUnknown: nothing was run.\n");
}

static void interval(struct kb_text *out, const struct kb_ev_interval *s, const char *reason)
{
    struct kb_text text = {0};
    if (s)
        kb_text_addf(&text, "%s (%s to %s, %s samples)", kb_plain(s->median_us).s, kb_plain(s->low_us).s,
                     kb_plain(s->high_us).s, kb_plain(s->samples).s);
    else
        kb_text_addf(&text, "unknown: %s", reason ?: "not measured");
    kb_report_cell(out, text.data);
    kb_text_free(&text);
}

static void versus_line(const struct kb_report *r, const struct kb_ev_versus *v)
{
    const struct kb_ev_ref *baseline = v->baseline ?: &kb_unknown_ref;
    char *text =
        kb_format("%s than %s version %d: time ratio %s (%s to %s)", v->verdict ?: "?", baseline->variant ?: "?",
                  (int)baseline->version, kb_plain(v->ratio).s, kb_plain(v->low).s, kb_plain(v->high).s);
    kb_text_add(r->out, "\n");
    kb_report_say(r->out, text);
    kb_text_add(r->out, v->paired ? ", runs of both taken in turn.\n" : ".\n");
    free(text);
}

static void times(const struct kb_report *r)
{
    const struct kb_ev_timing *timing = NULL;
    const struct kb_ev_versus *versus = KB_LAST(r, versus, r->context->headline);
    kb_text_add(r->out, "\n## Time\n\n");
    for (int i = 0; i < cases_of(r); i++) {
        const struct kb_ev_timing *one = KB_LAST(r, timing, i);
        const struct kb_ev_case *event = last_case(r, "run", i);
        if (!one)
            continue;
        if (!timing)
            kb_text_add(r->out, "| case | cold L2, us | warm, us | a call, us | source |\n|---|---|---|---|---|\n");
        timing = one;
        kb_text_add(r->out, "|");
        kb_report_cell(r->out, event ? event->label : NULL);
        interval(r->out, one->cold, one->cold_reason);
        interval(r->out, one->warm, one->warm_reason);
        kb_report_cell(r->out, kb_plain(one->call_us).s);
        kb_report_cell(r->out, one->source ?: "not timed");
        kb_text_add(r->out, "\n");
    }
    if (!timing)
        kb_text_add(r->out, "Unknown: it was not timed.\n");
    if (versus)
        versus_line(r, versus);
}

// What DRAM really moved beside what the roofline was told.
static void counted_bytes(const struct kb_report *r, double told)
{
    double bytes = NAN;
    for (int i = 0; i < r->events.count; i++) {
        const struct kb_ev_counters *c = r->events.items[i].body;
        if (r->events.items[i].type != KB_EVENT_counters)
            continue;
        double next = kb_named_value(c->metrics, c->metrics_count, "dram_bytes");
        bytes = isnan(next) ? bytes : next;
    }
    if (isnan(bytes))
        return;
    kb_text_addf(r->out, "By hardware counters DRAM moved %s", kb_quantity(bytes, "B").s);
    if (told > 0)
        kb_text_addf(r->out, ", %s x that", kb_plain(bytes / told).s);
    kb_text_add(r->out, ".\n");
}

static void roofline(const struct kb_report *r)
{
    const struct kb_ev_timing *timing = KB_LAST(r, timing, r->context->headline);
    const struct kb_ev_roofline *l = timing ? timing->roofline : NULL;
    kb_text_add(r->out, "\n## Roofline\n\n");
    if (!l) {
        kb_text_add(r->out, "Unknown: it was not timed.\n");
        return;
    }
    const char *bound = l->bound ?: "unknown";
    kb_text_addf(r->out, "%s and %s", kb_quantity(l->bytes, "B").s, kb_quantity(l->flops, "FLOP").s);
    kb_text_addf(r->out, ", %s FLOP a byte: under the %s roof. ", kb_plain(l->intensity).s,
                 strcmp(bound, "compute") ? bound : "arithmetic");
    if (l->impossible)
        kb_text_add(r->out, "**The measured time is impossible**: less than the vendor's peaks allow. ");
    else if (l->share > 0)
        kb_text_addf(r->out, "It attains %s (%s), %s of that roof; at most %s x is left. ",
                     kb_quantity(l->attained_bytes_per_s, "B/s").s, kb_quantity(l->attained_flops, "FLOP/s").s,
                     kb_percent(l->share).s, kb_plain(round(100 / l->share) / 100).s);
    else {
        kb_text_add(r->out, "What it attains is unknown: ");
        kb_report_say(r->out, l->share_reason ?: "no rate");
        kb_text_add(r->out, ". ");
    }
    if (l->floor_us > 0)
        kb_text_addf(r->out, "No run can beat %s us (%s).", kb_plain(l->floor_us).s,
                     l->floor_source ?: "from the vendor's peaks");
    kb_text_add(r->out, "\n\nSource of bytes and FLOPs: ");
    kb_report_say(r->out, l->source ?: "unknown");
    kb_text_add(r->out, ".\n");
    counted_bytes(r, l->bytes);
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
    kb_advice_gather(kb_json_get(r->results, "events"), r->context->headline, &in);
    in.device = r->device;
    in.bench = r->context->bench;
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
    kb_events_read(kb_json_get(r.results, "events"), &r.events);
    r.device = kb_record_new(&kb_record_device, kb_json_get(r.results, "device"));
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
    kb_record_delete(&kb_record_device, r.device);
    kb_events_free(&r.events);
}
