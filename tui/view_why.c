// Why it is that fast: the dominant limit with its evidence and what to try, then sections, then counters with the peak
// each is compared with. Without a GPU the same from what the CPU device counted.
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

static void add_stall(struct kb_line *l, const char *name, double share, int *left)
{
    if (share >= 0.02 && (*left)-- > 0)
        kb_spanf(l, KB_STYLE_DIM, "  %s %s", name ?: "?", kb_show_percent(share).s);
}

static void add_section(const struct kb_ev_section *s, bool raw, int width, struct kb_lines *out)
{
    struct kb_line line = {.ascii = out->ascii};
    int left = raw ? 6 : 3;
    kb_span_cut(&line, NAME - 1, KB_STYLE_STRONG, s->name ?: "?");
    kb_span_pad(&line, NAME);
    add_bar(&line, s->share, bar_cells(width));
    kb_spanf(&line, KB_STYLE_NUMBER, " %4s", kb_show_percent(s->share).s);
    if (!isnan(s->us))
        kb_spanf(&line, KB_STYLE_NUMBER, "  %s", kb_show_time(s->us).s);
    if (!isnan(s->share_bytes))
        kb_spanf(&line, KB_STYLE_DIM, "  %s of the bytes", kb_show_percent(s->share_bytes).s);
    if (s->line > 0 && width >= 70)
        kb_spanf(&line, KB_STYLE_DIM, "  line %d", (int)s->line);
    for (int i = 0; raw && i < s->raw_count; i++)
        add_stall(&line, s->raw[i].name, s->raw[i].samples / s->samples, &left);
    for (int i = 0; !raw && i < s->stalls_count; i++)
        add_stall(&line, s->stalls[i].group, s->stalls[i].share, &left);
    kb_lines_wrap(out, &line, width, NAME, 0);
    kb_line_free(&line);
}

static void add_losses(const struct kb_ev_sections *s, int width, struct kb_lines *out)
{
    if (s->dropped > 0) {
        char *text = kb_format("%s samples were dropped by the hardware (%s kept)", kb_show_count(s->dropped).s,
                               kb_show_count(s->samples).s);
        kb_lines_text(out, KB_STYLE_WARN, width, 2, text);
        free(text);
    }
    if (s->line_info == KB_NO)
        kb_lines_text(out, KB_STYLE_WARN, width, 2, "compiled without line information: no lines, no sections");
}

static void add_sections(const struct kb_why_events *why, bool raw, int width, struct kb_lines *out)
{
    const struct kb_ev_sections *s = why->in.sections;
    if (!s) {
        heading(out, "sections", why->sections_state, width);
        return;
    }
    bool divided = s->sections_count > 0, counted = kb_is_counted(s->source);
    char *about =
        counted ? kb_strdup("share of executed instructions, counted by executing the PTX; no time is known")
                : kb_format("%s samples by %s; time is %s%s", kb_show_count(s->samples).s, s->source ?: "?",
                            s->attribution ?: "their share of the measured time", raw ? "; raw names of stalls" : "");
    heading(out, divided ? "sections" : counted ? "kernels" : "functions", about, width);
    free(about);
    for (int i = 0; i < (divided ? s->sections_count : s->functions_count); i++)
        add_section(divided ? &s->sections[i] : &s->functions[i], raw, width, out);
    if (!counted)
        add_losses(s, width, out);
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

// What the value is measured against: a peak of the machine over the time, or the best value there can be.
static void add_comparison(struct kb_line *l, const struct kb_ev_counters *c, const struct kb_ev_counter *about,
                           double value, double us, int cells)
{
    double peak = kb_record_number(&kb_record_peaks, c->peaks ?: &kb_unknown_peaks, about->peak ?: "");
    if (!isnan(peak) && us > 0) {
        double rate = value / (us * 1e-6);
        bool flops = strstr(about->peak, "flops") != NULL;
        kb_span(l, KB_STYLE_TEXT, "  ");
        add_bar(l, rate / peak, cells);
        kb_spanf(l, KB_STYLE_NUMBER, " %s", kb_show_percent(rate / peak).s);
        kb_spanf(l, KB_STYLE_DIM, " of %s", (flops ? kb_show_flops_rate(peak) : kb_show_bytes_rate(peak)).s);
    } else if (about->best == 100 && !strcmp(about->unit ?: "", "%")) {
        kb_span(l, KB_STYLE_TEXT, "  ");
        add_bar(l, value / 100, cells);
    } else if (!isnan(about->best)) {
        kb_spanf(l, KB_STYLE_DIM, "  best %s", kb_show_plain(about->best).s);
    }
}

static void add_counter(const struct kb_ev_counters *c, const struct kb_named *metric, double us, int width,
                        struct kb_lines *out)
{
    const struct kb_ev_counter *about = kb_about_counter(c, metric->name);
    struct kb_line line = {.ascii = out->ascii};
    char *words = kb_strdup(metric->name);
    for (char *at = words; *at; at++)
        *at = *at == '_' ? ' ' : *at;
    kb_span_cut(&line, NAME + 5, KB_STYLE_DIM, words);
    kb_span_pad(&line, NAME + 6);
    if (!isnan(metric->value)) {
        kb_span(&line, KB_STYLE_NUMBER, in_unit(metric->value, about->unit ?: "").s);
        add_comparison(&line, c, about, metric->value, us, bar_cells(width) / 2);
    } else {
        kb_spanf(&line, KB_STYLE_UNKNOWN, "– %s", metric->reason ?: "unknown");
    }
    kb_lines_wrap(out, &line, width, NAME + 6, 0);
    kb_line_free(&line);
    free(words);
}

static void add_counters(const struct kb_why_events *why, int width, struct kb_lines *out)
{
    // the profiled run takes longer than a plain one: rates go by the timed one
    double us = KB_WITHIN(why->in.timing, cold, interval)->median_us;
    if (isnan(us))
        us = kb_metric(&why->in, "duration_us");
    if (!why->in.counters_count) {
        bool likewise = !why->in.sections && !strcmp(why->counters_state, why->sections_state) &&
                        strlen(why->counters_state) > SHORT_REASON; // a long one is said once
        heading(out, "counters", likewise ? "likewise" : why->counters_state, width);
        return;
    }
    heading(out, "counters", why->in.counters[0]->source, width);
    for (int i = 0; i < why->in.counters_count; i++)
        for (int k = 0; k < why->in.counters[i]->metrics_count; k++)
            add_counter(why->in.counters[i], &why->in.counters[i]->metrics[k], us, width, out);
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
    if (!refused || a->replay_text || !kb_model_device_is(a->model, "cuda"))
        return;
    kb_lines_add(out);
    kb_lines_text(out, KB_STYLE_DIM, width, 0,
                  "a  asks for them again, once what is in the way is gone; all else goes on without them");
    if (late[0]->status == KB_STATUS_NA)
        kb_lines_text(out, KB_STYLE_DIM, width, 0,
                      "T  traces the sections instead: exact spans, without the right to profile");
}

// ---- counted by the CPU device

static void add_class(const struct kb_named *class, double all, int width, struct kb_lines *out)
{
    struct kb_line *l = kb_lines_add(out);
    double share = class->value / all;
    kb_span_cut(l, NAME - 1, KB_STYLE_STRONG, class->name);
    kb_span_pad(l, NAME);
    add_bar(l, share, bar_cells(width));
    kb_spanf(l, KB_STYLE_NUMBER, " %4s", kb_show_percent(share).s);
    kb_spanf(l, KB_STYLE_DIM, "  %s", kb_show_count(class->value).s);
}

// Kinds of work, the most frequent first.
static void add_classes(const struct kb_ev_counts *c, int width, struct kb_lines *out)
{
    double below = INFINITY;
    for (int shown = 0; shown < 10;) {
        double most = 0;
        for (int i = 0; i < c->by_class_count; i++)
            if (c->by_class[i].value < below && c->by_class[i].value > most)
                most = c->by_class[i].value;
        if (!(most > 0))
            return;
        for (int i = 0; i < c->by_class_count; i++)
            if (c->by_class[i].value == most && shown++ < 10)
                add_class(&c->by_class[i], c->instructions, width, out);
        below = most;
    }
}

static void add_counted(const struct kb_why_events *why, int width, struct kb_lines *out)
{
    for (int i = 0; i < why->in.facts_count; i++) {
        const struct kb_ev_counts *facts = KB_WITHIN(why->in.facts[i], facts, counts);
        heading(out, facts->kernel ?: "kernel", "executed instructions by kind, counted", width);
        add_classes(facts, width, out);
        if (!why->in.counters_count) // else they stand there
            kb_facts_totals(facts, out);
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
