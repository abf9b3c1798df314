// Why it is that fast: the dominant limit with its evidence and what to try, then sections, then counters with the peak
// each is compared with. Without a GPU the same from what the CPU device counted.
#include "base/json.h"
#include "base/memory.h"
#include "tui/evidence.h"
#include "tui/facts.h"
#include "tui/format.h"
#include "tui/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT_REASON = 40, NAME = 20, CELLS = 12 };

static void heading(struct kb_lines *out, const char *text, const char *about, int width)
{
    struct kb_line line = {.ascii = out->ascii};
    if (out->count)
        kb_lines_add(out);
    kb_span(&line, KB_STYLE_TITLE, text);
    if (about && *about)
        kb_spanf(&line, KB_STYLE_DIM, "  %s", about);
    kb_lines_wrap(out, &line, width, 2, 0);
    kb_line_free(&line);
}

static void add_bar(struct kb_line *l, double share, int cells)
{
    int full = isnan(share) || share < 0 ? 0 : (int)lround((share > 1 ? 1 : share) * cells);
    for (int i = 0; i < cells; i++)
        kb_span(l, i < full ? KB_STYLE_POINT : KB_STYLE_AXIS,
                i < full   ? kb_sign(KB_SIGN_BLOCK, l->ascii)
                : l->ascii ? "."
                           : "░");
}

static int bar_cells(int width)
{
    return width >= 90 ? CELLS * 2 : width >= 50 ? CELLS : CELLS / 2;
}

// ---- the limit

static void add_evidence(const struct kb_advice_item *item, bool first, int width, struct kb_lines *out)
{
    struct kb_line line = {.ascii = out->ascii};
    struct kb_text kinds = {0};
    kb_evidence_names(item->kinds, &kinds);
    kb_spanf(&line, first ? KB_STYLE_TEXT : KB_STYLE_DIM, "%s", item->text);
    if (kinds.size)
        kb_spanf(&line, KB_STYLE_DIM, " (%s)", kinds.data);
    kb_lines_wrap(out, &line, width, 2, 0);
    kb_text_free(&kinds);
    kb_line_free(&line);
}

static void add_step(const struct kb_advice_step *step, int width, struct kb_lines *out)
{
    struct kb_line line = {.ascii = out->ascii};
    kb_spanf(&line, KB_STYLE_KEY, "try %s ", kb_sign(KB_SIGN_ARROW, out->ascii));
    bool placed = step->file && step->line;
    if (placed)
        kb_spanf(&line, KB_STYLE_STRONG, "%s:%d ", step->file + (*step->file == '/'), step->line);
    kb_span(&line, KB_STYLE_TEXT, placed ? kb_step_words(step->text, step->line) : step->text);
    kb_lines_wrap(out, &line, width, 6, 0);
    kb_line_free(&line);
}

static void add_missing(const char *what, int width, struct kb_lines *out)
{
    struct kb_line line = {.ascii = out->ascii};
    kb_spanf(&line, KB_STYLE_DIM, "would tell more: %s", what);
    kb_lines_wrap(out, &line, width, 2, 0);
    kb_line_free(&line);
}

static void add_limit(const struct kb_advice *advice, int width, struct kb_lines *out)
{
    struct kb_line line = {.ascii = out->ascii};
    kb_span(&line, KB_STYLE_DIM, "limit: ");
    if (advice->limit == KB_LIMIT_UNKNOWN)
        kb_span(&line, KB_STYLE_UNKNOWN, "unknown");
    else
        kb_spanf(&line, KB_STYLE_STRONG, "%s", kb_limit_name(advice->limit));
    if (advice->limit != KB_LIMIT_UNKNOWN)
        kb_spanf(&line, KB_STYLE_DIM, "  (%s evidence)", kb_confidence_name(advice->confidence));
    kb_lines_wrap(out, &line, width, 2, 0);
    kb_line_free(&line);
    for (int i = 0; i < advice->step_count; i++)
        add_step(&advice->steps[i], width, out);
    for (int i = 0; i < advice->list_count; i++)
        add_evidence(&advice->list[i], i == 0, width, out);
    if (advice->missing)
        add_missing(advice->missing, width, out);
}

// ---- sections

static void add_stalls(struct kb_line *l, const cJSON *section, bool raw)
{
    const cJSON *item;
    double all = kb_json_number(section, "samples", NAN);
    int shown = 0;
    cJSON_ArrayForEach (item, kb_json_get(section, raw ? "raw" : "stalls")) {
        double share = raw ? kb_json_number(item, "samples", NAN) / all : kb_json_number(item, "share", NAN);
        if (!(share >= 0.02) || shown++ == (raw ? 6 : 3))
            continue;
        kb_spanf(l, KB_STYLE_DIM, "  %s %s", kb_json_text(item, raw ? "name" : "group", "?"), kb_show_percent(share).s);
    }
}

static void add_section(const cJSON *section, bool raw, int width, struct kb_lines *out)
{
    struct kb_line line = {.ascii = out->ascii};
    double share = kb_json_number(section, "share", NAN), us = kb_json_number(section, "us", NAN);
    int from = (int)kb_json_int(section, "line", 0);
    kb_span_cut(&line, NAME - 1, KB_STYLE_STRONG, kb_json_text(section, "name", "?"));
    kb_span_pad(&line, NAME);
    add_bar(&line, share, bar_cells(width));
    kb_spanf(&line, KB_STYLE_NUMBER, " %4s", kb_show_percent(share).s);
    if (!isnan(us))
        kb_spanf(&line, KB_STYLE_NUMBER, "  %s", kb_show_time(us).s);
    double bytes = kb_json_number(section, "share_bytes", NAN);
    if (!isnan(bytes))
        kb_spanf(&line, KB_STYLE_DIM, "  %s of the bytes", kb_show_percent(bytes).s);
    if (from > 0 && width >= 70)
        kb_spanf(&line, KB_STYLE_DIM, "  line %d", from);
    add_stalls(&line, section, raw);
    kb_lines_wrap(out, &line, width, NAME, 0);
    kb_line_free(&line);
}

static void add_losses(const cJSON *event, int width, struct kb_lines *out)
{
    double dropped = kb_json_number(event, "dropped", 0), all = kb_json_number(event, "samples", NAN);
    if (dropped > 0) {
        char *text = kb_format("%s samples were dropped by the hardware (%s kept)", kb_show_count(dropped).s,
                               kb_show_count(all).s);
        kb_lines_text(out, KB_STYLE_WARN, width, 2, text);
        free(text);
    }
    if (cJSON_IsFalse(kb_json_get(event, "line_info")))
        kb_lines_text(out, KB_STYLE_WARN, width, 2, "compiled without line information: no lines, no sections");
}

static void add_sections(const struct kb_why_events *why, bool raw, int width, struct kb_lines *out)
{
    const cJSON *event = why->in.sections, *item, *list = kb_json_get(event, "sections");
    if (!event) {
        heading(out, "sections", why->sections_state, width);
        return;
    }
    if (!cJSON_GetArraySize(list))
        list = kb_json_get(event, "functions");
    if (kb_counted_event(event)) {
        heading(out, list == kb_json_get(event, "sections") ? "sections" : "kernels",
                "share of executed instructions, counted by executing the PTX; no time is known", width);
        cJSON_ArrayForEach (item, list)
            add_section(item, raw, width, out);
        return;
    }
    char *about = kb_format("%s samples by %s; time is %s%s", kb_show_count(kb_json_number(event, "samples", NAN)).s,
                            kb_json_text(event, "source", "?"),
                            kb_json_text(event, "attribution", "their share of the measured time"),
                            raw ? "; raw names of stalls" : "");
    heading(out, list == kb_json_get(event, "sections") ? "sections" : "functions", about, width);
    free(about);
    cJSON_ArrayForEach (item, list)
        add_section(item, raw, width, out);
    add_losses(event, width, out);
}

// ---- counters

static struct kb_short in_unit(double value, const char *unit)
{
    if (!strcmp(unit, "bytes") || !strcmp(unit, "byte"))
        return kb_show_bytes(value);
    if (!strcmp(unit, "flop") || !strcmp(unit, "flops"))
        return kb_show_flops(value);
    if (!strcmp(unit, "%"))
        return kb_show_percent(value / 100);
    if (!strcmp(unit, "us"))
        return kb_show_time(value);
    return value == floor(value) ? kb_show_count(value) : kb_show_plain(value);
}

static double number_of(const struct kb_why_events *why, const char *name)
{
    double value = NAN;
    for (int i = 0; i < why->in.counters_count; i++) {
        double x = kb_json_number(kb_json_get(why->in.counters[i], "metrics"), name, NAN);
        value = isnan(x) ? value : x;
    }
    return value;
}

// What the value is measured against: a peak of the machine over the time, or the best value there can be.
static void add_comparison(struct kb_line *l, const cJSON *event, const cJSON *about, double value, double us,
                           int cells)
{
    const char *peak_name = kb_json_text(about, "peak", NULL);
    double peak = peak_name ? kb_json_number(kb_json_get(event, "peaks"), peak_name, NAN) : NAN;
    double best = kb_json_number(about, "best", NAN);
    if (!isnan(peak) && us > 0) {
        double rate = value / (us * 1e-6);
        bool flops = strstr(peak_name, "flops") != NULL;
        kb_span(l, KB_STYLE_TEXT, "  ");
        add_bar(l, rate / peak, cells);
        kb_spanf(l, KB_STYLE_NUMBER, " %s", kb_show_percent(rate / peak).s);
        kb_spanf(l, KB_STYLE_DIM, " of %s", (flops ? kb_show_flops_rate(peak) : kb_show_bytes_rate(peak)).s);
    } else if (best == 100 && !strcmp(kb_json_text(about, "unit", ""), "%")) {
        kb_span(l, KB_STYLE_TEXT, "  ");
        add_bar(l, value / 100, cells);
    } else if (!isnan(best)) {
        kb_spanf(l, KB_STYLE_DIM, "  best %s", kb_show_plain(best).s);
    }
}

static void add_counter(const cJSON *event, const cJSON *metric, double us, int width, struct kb_lines *out)
{
    const char *name = metric->string ? metric->string : "?";
    const cJSON *about = kb_json_get(kb_json_get(event, "about"), name);
    struct kb_line line = {.ascii = out->ascii};
    char *words = kb_strdup(name);
    for (char *at = words; *at; at++)
        *at = *at == '_' ? ' ' : *at;
    kb_span_cut(&line, NAME + 5, KB_STYLE_DIM, words);
    kb_span_pad(&line, NAME + 6);
    if (cJSON_IsNumber(metric)) {
        kb_span(&line, KB_STYLE_NUMBER, in_unit(metric->valuedouble, kb_json_text(about, "unit", "")).s);
        add_comparison(&line, event, about, metric->valuedouble, us, bar_cells(width) / 2);
    } else {
        char *key = kb_format("%s_reason", name);
        kb_spanf(&line, KB_STYLE_UNKNOWN, "– %s", kb_json_text(kb_json_get(event, "metrics"), key, "unknown"));
        free(key);
    }
    kb_lines_wrap(out, &line, width, NAME + 6, 0);
    kb_line_free(&line);
    free(words);
}

static void add_counters(const struct kb_why_events *why, int width, struct kb_lines *out)
{
    // the profiled run takes longer than a plain one: rates go by the timed one
    double us = kb_json_number(kb_json_get(why->in.timing, "cold"), "median_us", NAN);
    if (isnan(us))
        us = number_of(why, "duration_us");
    if (!why->in.counters_count) {
        bool likewise = !why->in.sections && !strcmp(why->counters_state, why->sections_state) &&
                        strlen(why->counters_state) > SHORT_REASON; // a long one is said once
        heading(out, "counters", likewise ? "likewise" : why->counters_state, width);
        return;
    }
    heading(out, "counters", kb_json_text(why->in.counters[0], "source", ""), width);
    for (int i = 0; i < why->in.counters_count; i++) {
        const cJSON *metric;
        cJSON_ArrayForEach (metric, kb_json_get(why->in.counters[i], "metrics")) {
            if (metric->string && !kb_ends(metric->string, "_reason"))
                add_counter(why->in.counters[i], metric, us, width, out);
        }
    }
    if (kb_starts(why->counters_state, "bytes only"))
        kb_lines_text(out, KB_STYLE_WARN, width, 2, why->counters_state);
}

// A refusal ends when what is in the way is gone; that is asked of the hardware on a key only.
static void add_key(const struct kb_app *a, const struct kb_model_version *v, int width, struct kb_lines *out)
{
    const struct kb_rung_state *late[] = {&v->rungs[KB_RUNG_SECTIONS], &v->rungs[KB_RUNG_COUNTERS]};
    bool refused = false;
    for (size_t i = 0; i < KB_COUNT(late); i++)
        refused = refused ||
                  (late[i]->status == KB_STATUS_NA && !kb_starts(late[i]->reason ? late[i]->reason : "", "left out"));
    if (!refused || a->replay_text || strcmp(kb_json_text(a->model->device, "kind", ""), "cuda"))
        return;
    kb_lines_add(out);
    kb_lines_text(out, KB_STYLE_DIM, width, 0,
                  "a  asks for them again, once what is in the way is gone; all else goes on without them");
    if (late[0]->status == KB_STATUS_NA)
        kb_lines_text(out, KB_STYLE_DIM, width, 0,
                      "T  traces the sections instead: exact spans, without the right to profile");
}

// ---- counted by the CPU device

static void add_class(const cJSON *item, double all, int width, struct kb_lines *out)
{
    struct kb_line *l = kb_lines_add(out);
    double share = item->valuedouble / all;
    kb_span_cut(l, NAME - 1, KB_STYLE_STRONG, item->string ? item->string : "?");
    kb_span_pad(l, NAME);
    add_bar(l, share, bar_cells(width));
    kb_spanf(l, KB_STYLE_NUMBER, " %4s", kb_show_percent(share).s);
    kb_spanf(l, KB_STYLE_DIM, "  %s", kb_show_count(item->valuedouble).s);
}

// Kinds of work, the most frequent first.
static void add_classes(const cJSON *facts, int width, struct kb_lines *out)
{
    const cJSON *classes = kb_json_get(facts, "by_class"), *item;
    double all = kb_json_number(facts, "instructions", NAN), below = INFINITY;
    for (int shown = 0; shown < 10;) {
        double most = 0;
        cJSON_ArrayForEach (item, classes)
            most = item->valuedouble < below && item->valuedouble > most ? item->valuedouble : most;
        if (!(most > 0))
            return;
        cJSON_ArrayForEach (item, classes) {
            if (item->valuedouble == most && shown++ < 10)
                add_class(item, all, width, out);
        }
        below = most;
    }
}

static void add_counted(const struct kb_why_events *why, int width, struct kb_lines *out)
{
    for (int i = 0; i < why->in.facts_count; i++) {
        const cJSON *facts = kb_json_get(why->in.facts[i], "facts");
        heading(out, kb_json_text(facts, "kernel", "kernel"), "executed instructions by kind, counted", width);
        add_classes(facts, width, out);
        if (!why->in.counters_count) // else they stand there
            kb_facts_totals(why->in.facts[i], out);
    }
}

static void lines(const struct kb_app *a, int width, struct kb_lines *out)
{
    const struct kb_model_version *v = kb_app_version(a);
    struct kb_why_events why;
    struct kb_advice advice;
    if (!v) {
        kb_span(kb_lines_add(out), KB_STYLE_DIM, "nothing was built yet");
        return;
    }
    kb_why_events_of(a, v, &why);
    why.in.no_sections = why.in.no_counters = NULL; // the reasons stand below, each in its place
    kb_advice_make(&why.in, &advice);
    if (kb_failed_rung(v) >= 0 || v->status == KB_STATUS_FAIL)
        kb_lines_text(out, KB_STYLE_DIM, width, 0, "no advice: what is not right has no speed to explain");
    else
        add_limit(&advice, width, out);
    kb_advice_free(&advice);
    if (why.in.sections || !why.in.facts_count)
        add_sections(&why, a->raw_stalls, width, out);
    if (why.in.counters_count || !why.in.facts_count)
        add_counters(&why, width, out);
    add_counted(&why, width, out);
    add_key(a, v, width, out);
}

static void note(const struct kb_app *a, struct kb_text *out)
{
    const struct kb_model_version *v = kb_app_version(a);
    if (v && v->number > 0)
        kb_text_addf(out, "%s v%d", a->model->variants[a->variant].name, v->number);
}

const struct kb_view kb_view_why = {"why", 0, lines, NULL, note, NULL, NULL};
