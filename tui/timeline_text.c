// What stands above and below the timeline: what it cost, what part is shown, the sections in numbers.
#include "base/memory.h"
#include "tui/format.h"
#include "tui/timeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 22 };

enum kb_style kb_timeline_style(int section)
{
    static const enum kb_style styles[] = {KB_STYLE_SECTION_0, KB_STYLE_SECTION_1, KB_STYLE_SECTION_2,
                                           KB_STYLE_SECTION_3, KB_STYLE_SECTION_4, KB_STYLE_SECTION_5};
    return section < 1 ? KB_STYLE_SECTION_NONE : styles[(size_t)(section - 1) % KB_COUNT(styles)];
}

void kb_timeline_time(const struct kb_trace *t, double ticks, struct kb_text *out)
{
    if (ticks == 0)
        kb_text_add(out, "0");
    else if (t->ticks_per_us > 0)
        kb_text_add(out, kb_show_time(ticks / t->ticks_per_us).s);
    else
        kb_text_addf(out, "%s%s", kb_show_count(ticks).s, t->emulated ? "" : " cycles");
}

// ---- above

static struct kb_short in_unit(double value, bool us)
{
    return us ? kb_show_time(value) : kb_show_count(value);
}

// brief: there is no room for how it was measured.
static void add_slowdown(const struct kb_ev_trace *t, bool brief, struct kb_line *l)
{
    const struct kb_ev_slowdown *s = t->slowdown ?: &kb_unknown_slowdown;
    const char *unit = s->unit ?: "";
    bool us = !strcmp(unit, "us");
    kb_span(l, KB_STYLE_DIM, "tracing slows it down ");
    if (isnan(s->ratio)) {
        kb_spanf(l, KB_STYLE_UNKNOWN, "– (%s)", s->ratio_reason ?: "unknown");
        return;
    }
    kb_spanf(l, s->ratio >= 1.1 ? KB_STYLE_WARN : KB_STYLE_STRONG, "%.2f x", s->ratio);
    if (brief)
        return;
    kb_spanf(l, KB_STYLE_DIM, " (%s %s %s", in_unit(s->plain, us).s, kb_sign(KB_SIGN_ARROW, l->ascii),
             in_unit(s->traced, us).s);
    kb_spanf(l, KB_STYLE_DIM, "%s%s; %s)", us ? "" : " ", us ? "" : unit, s->method ?: "?");
}

static void add_registers(const struct kb_ev_trace *t, struct kb_line *l)
{
    const struct kb_ev_registers *r = t->registers ?: &kb_unknown_registers;
    if (!isnan(r->plain) && !isnan(r->traced))
        kb_spanf(l, KB_STYLE_DIM, "  registers %.0f %s %.0f", r->plain, kb_sign(KB_SIGN_ARROW, l->ascii), r->traced);
}

static void add_result(const struct kb_ev_trace *t, struct kb_line *l)
{
    if (t->right == KB_NO)
        kb_spanf(l, KB_STYLE_BAD, "  the traced code is WRONG: %s", t->wrong ?: "?");
    else if (t->right == KB_YES)
        kb_span(l, KB_STYLE_DIM, "  its result is right");
}

static void add_launch(const struct kb_ev_traced_launch *t, bool several, bool brief, struct kb_line *l)
{
    kb_span(l, KB_STYLE_TEXT, "  ");
    if (several)
        kb_spanf(l, KB_STYLE_STRONG, "%s ", t->kernel ?: "?");
    kb_spanf(l, KB_STYLE_TEXT, "%s", t->which ?: "?");
    kb_spanf(l, t->lost_events > 0 ? KB_STYLE_WARN : KB_STYLE_DIM, ", %s events lost",
             kb_show_count(t->lost_events > 0 ? t->lost_events : 0).s);
    if (t->unfinished_warps > 0)
        kb_spanf(l, KB_STYLE_WARN, ", %s warps never came to their end", kb_show_count(t->unfinished_warps).s);
    if (!isnan(t->waves))
        kb_spanf(l, KB_STYLE_TEXT, ", %.1f waves", t->waves);
    if (!isnan(t->tail_share))
        kb_spanf(l, KB_STYLE_TEXT, ", idle at the end %s", kb_show_percent(t->tail_share).s);
    bool us = !isnan(t->block_median_us);
    double min = us ? t->block_min_us : t->block_min_ticks, max = us ? t->block_max_us : t->block_max_ticks,
           median = us ? t->block_median_us : t->block_median_ticks;
    if (!isnan(median) && !brief)
        kb_spanf(l, KB_STYLE_DIM, ", a block %s to %s, median %s", in_unit(min, us).s, in_unit(max, us).s,
                 in_unit(median, us).s);
}

static void add_clock(const struct kb_ev_trace *t, struct kb_line *l)
{
    if (t->emulated)
        kb_span(l, KB_STYLE_WARN, "emulated: instructions of the warp, not time");
    else if (isnan(t->ticks_per_us))
        kb_span(l, KB_STYLE_WARN, "cycles; the clock's rate is not known, each SM begins at 0");
    else if (isnan(t->timer_step_ns))
        kb_spanf(l, KB_STYLE_WARN, "%.0f MHz, SMs laid side by side, how well is not known: %s", t->ticks_per_us,
                 t->timer_step_ns_reason ?: "the timer's step was not seen");
    else
        kb_spanf(l, KB_STYLE_DIM, "%.0f MHz, SMs laid side by side within %s", t->ticks_per_us,
                 kb_show_time(t->timer_step_ns / 1000).s);
}

static void add_head(const struct kb_ev_trace *t, int width, bool brief, int most, struct kb_lines *out)
{
    struct kb_line l = {.ascii = out->ascii};
    add_slowdown(t, brief, &l);
    add_registers(t, &l);
    add_result(t, &l);
    kb_lines_wrap(out, &l, width, 2, brief && most > 1 ? most - 1 : 0);
    kb_line_clear(&l);
    add_clock(t, &l);
    for (int i = 0; i < t->launches_count; i++)
        add_launch(&t->launches[i], t->launches_count > 1, brief, &l);
    kb_lines_wrap(out, &l, width, 2, brief && most > out->count ? most - out->count : 0);
    kb_line_free(&l);
}

void kb_timeline_head(const struct kb_ev_trace *t, int width, int most, struct kb_lines *out)
{
    struct kb_lines whole = {.ascii = out->ascii};
    add_head(t, width, false, most, &whole);
    add_head(t, width, whole.count > most, most, out);
    kb_lines_free(&whole);
}

// ---- below

static bool is_seen(const struct kb_ev_span_sums *section)
{
    return section->spans > 0;
}

static void add_compact(const struct kb_ev_trace *t, int width, struct kb_lines *out)
{
    struct kb_line l = {.ascii = out->ascii};
    for (int i = 0; i < t->sections_count; i++) {
        char letter[2] = {kb_trace_letter(i), 0};
        if (!is_seen(&t->sections[i]))
            continue;
        kb_span(&l, kb_timeline_style(i), letter);
        kb_spanf(&l, KB_STYLE_TEXT, " %s", t->sections[i].name ?: "?");
        kb_spanf(&l, KB_STYLE_STRONG, " %s  ", kb_show_percent(t->sections[i].share).s);
    }
    kb_lines_wrap(out, &l, width, 0, 0);
    kb_line_free(&l);
}

static void add_number(struct kb_line *l, int column, double us, double ticks)
{
    kb_span_right(l, column, KB_STYLE_NUMBER, isnan(us) ? kb_show_count(floor(ticks + 0.5)).s : kb_show_time(us).s);
}

static void add_row(const struct kb_ev_span_sums *s, int index, int width, struct kb_lines *out)
{
    struct kb_line *l = kb_lines_add(out);
    char letter[2] = {kb_trace_letter(index), 0};
    kb_span(l, kb_timeline_style(index), letter);
    kb_span(l, KB_STYLE_TEXT, " ");
    kb_span_cut(l, NAME - 3, KB_STYLE_TEXT, s->name ?: "?");
    kb_span_right(l, NAME + 6, KB_STYLE_STRONG, kb_show_percent(s->share).s);
    kb_span_right(l, NAME + 18, KB_STYLE_NUMBER, kb_show_count(s->spans).s);
    add_number(l, NAME + 30, s->mean_us, s->mean_ticks);
    add_number(l, NAME + 42, s->median_us, s->median_ticks);
    add_number(l, NAME + 54, s->max_us, s->max_ticks);
    if (width >= NAME + 80) {
        char *imbalance = kb_format("%.2f x", s->imbalance);
        kb_span_right(l, NAME + 66, KB_STYLE_NUMBER, imbalance);
        free(imbalance);
        if (s->line > 0)
            kb_spanf(l, KB_STYLE_DIM, "  %s:%d", s->file ?: "", (int)s->line);
    }
}

static void add_table(const struct kb_ev_trace *t, int width, struct kb_lines *out)
{
    struct kb_line *l = kb_lines_add(out);
    kb_span(l, KB_STYLE_DIM, "section");
    kb_span_right(l, NAME + 6, KB_STYLE_DIM, "share");
    kb_span_right(l, NAME + 18, KB_STYLE_DIM, "spans");
    kb_span_right(l, NAME + 30, KB_STYLE_DIM, "mean");
    kb_span_right(l, NAME + 42, KB_STYLE_DIM, "median");
    kb_span_right(l, NAME + 54, KB_STYLE_DIM, "longest");
    if (width >= NAME + 80)
        kb_span(l, KB_STYLE_DIM, "   busiest warp over the mean");
    for (int i = 0; i < t->sections_count; i++)
        if (is_seen(&t->sections[i]))
            add_row(&t->sections[i], i, width, out);
}

void kb_timeline_sections(const struct kb_ev_trace *t, int width, int most, struct kb_lines *out)
{
    int seen = 1; // the table's head
    for (int i = 0; i < t->sections_count; i++)
        seen += is_seen(&t->sections[i]);
    if (seen <= most && width >= NAME + 56)
        add_table(t, width, out);
    else
        add_compact(t, width, out);
}
