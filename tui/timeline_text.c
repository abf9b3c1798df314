// What stands above and below the timeline: what it cost, what part is shown, the sections in numbers.
#include "base/json.h"
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
static void add_slowdown(const cJSON *event, bool brief, struct kb_line *l)
{
    const cJSON *o = kb_json_get(event, "slowdown");
    double ratio = kb_json_number(o, "ratio", NAN);
    const char *unit = kb_json_text(o, "unit", "");
    bool us = !strcmp(unit, "us");
    kb_span(l, KB_STYLE_DIM, "tracing slows it down ");
    if (isnan(ratio)) {
        kb_spanf(l, KB_STYLE_UNKNOWN, "– (%s)", kb_json_text(o, "ratio_reason", "unknown"));
        return;
    }
    kb_spanf(l, ratio >= 1.1 ? KB_STYLE_WARN : KB_STYLE_STRONG, "%.2f x", ratio);
    if (brief)
        return;
    kb_spanf(l, KB_STYLE_DIM, " (%s %s %s", in_unit(kb_json_number(o, "plain", NAN), us).s,
             kb_sign(KB_SIGN_ARROW, l->ascii), in_unit(kb_json_number(o, "traced", NAN), us).s);
    kb_spanf(l, KB_STYLE_DIM, "%s%s; %s)", us ? "" : " ", us ? "" : unit, kb_json_text(o, "method", "?"));
}

static void add_registers(const cJSON *event, struct kb_line *l)
{
    double plain = kb_json_number(kb_json_get(event, "registers"), "plain", NAN),
           traced = kb_json_number(kb_json_get(event, "registers"), "traced", NAN);
    if (!isnan(plain) && !isnan(traced))
        kb_spanf(l, KB_STYLE_DIM, "  registers %.0f %s %.0f", plain, kb_sign(KB_SIGN_ARROW, l->ascii), traced);
}

static void add_result(const cJSON *event, struct kb_line *l)
{
    const cJSON *right = kb_json_get(event, "right");
    if (cJSON_IsFalse(right))
        kb_spanf(l, KB_STYLE_BAD, "  the traced code is WRONG: %s", kb_json_text(event, "wrong", "?"));
    else if (cJSON_IsTrue(right))
        kb_span(l, KB_STYLE_DIM, "  its result is right");
}

static void add_launch(const cJSON *launch, bool several, bool brief, struct kb_line *l)
{
    double lost = kb_json_number(launch, "lost_events", 0), unfinished = kb_json_number(launch, "unfinished_warps", 0),
           waves = kb_json_number(launch, "waves", NAN), tail = kb_json_number(launch, "tail_share", NAN);
    kb_span(l, KB_STYLE_TEXT, "  ");
    if (several)
        kb_spanf(l, KB_STYLE_STRONG, "%s ", kb_json_text(launch, "kernel", "?"));
    kb_spanf(l, KB_STYLE_TEXT, "%s", kb_json_text(launch, "which", "?"));
    kb_spanf(l, lost > 0 ? KB_STYLE_WARN : KB_STYLE_DIM, ", %s events lost", kb_show_count(lost).s);
    if (unfinished > 0)
        kb_spanf(l, KB_STYLE_WARN, ", %s warps never came to their end", kb_show_count(unfinished).s);
    if (!isnan(waves))
        kb_spanf(l, KB_STYLE_TEXT, ", %.1f waves", waves);
    if (!isnan(tail))
        kb_spanf(l, KB_STYLE_TEXT, ", idle at the end %s", kb_show_percent(tail).s);
    double min = kb_json_number(launch, "block_min_us", NAN), median = kb_json_number(launch, "block_median_us", NAN),
           max = kb_json_number(launch, "block_max_us", NAN);
    bool us = !isnan(median);
    if (!us) {
        min = kb_json_number(launch, "block_min_ticks", NAN);
        median = kb_json_number(launch, "block_median_ticks", NAN);
        max = kb_json_number(launch, "block_max_ticks", NAN);
    }
    if (!isnan(median) && !brief)
        kb_spanf(l, KB_STYLE_DIM, ", a block %s to %s, median %s", in_unit(min, us).s, in_unit(max, us).s,
                 in_unit(median, us).s);
}

static void add_clock(const cJSON *event, struct kb_line *l)
{
    double rate = kb_json_number(event, "ticks_per_us", NAN), step = kb_json_number(event, "timer_step_ns", NAN);
    if (kb_json_bool(event, "emulated", false))
        kb_span(l, KB_STYLE_WARN, "emulated: instructions of the warp, not time");
    else if (isnan(rate))
        kb_span(l, KB_STYLE_WARN, "cycles; the clock's rate is not known, each SM begins at 0");
    else if (isnan(step))
        kb_spanf(l, KB_STYLE_WARN, "%.0f MHz, SMs laid side by side, how well is not known: %s", rate,
                 kb_json_text(event, "timer_step_ns_reason", "the timer's step was not seen"));
    else
        kb_spanf(l, KB_STYLE_DIM, "%.0f MHz, SMs laid side by side within %s", rate, kb_show_time(step / 1000).s);
}

static void add_head(const cJSON *event, int width, bool brief, int most, struct kb_lines *out)
{
    struct kb_line l = {.ascii = out->ascii};
    const cJSON *launches = kb_json_get(event, "launches"), *item;
    add_slowdown(event, brief, &l);
    add_registers(event, &l);
    add_result(event, &l);
    kb_lines_wrap(out, &l, width, 2, brief && most > 1 ? most - 1 : 0);
    kb_line_clear(&l);
    add_clock(event, &l);
    cJSON_ArrayForEach (item, launches)
        add_launch(item, cJSON_GetArraySize(launches) > 1, brief, &l);
    kb_lines_wrap(out, &l, width, 2, brief && most > out->count ? most - out->count : 0);
    kb_line_free(&l);
}

void kb_timeline_head(const cJSON *event, int width, int most, struct kb_lines *out)
{
    struct kb_lines whole = {.ascii = out->ascii};
    add_head(event, width, false, most, &whole);
    add_head(event, width, whole.count > most, most, out);
    kb_lines_free(&whole);
}

// ---- below

static bool is_seen(const cJSON *section)
{
    return kb_json_number(section, "spans", 0) > 0;
}

static void add_compact(const cJSON *event, int width, struct kb_lines *out)
{
    const cJSON *item;
    struct kb_line l = {.ascii = out->ascii};
    int i = 0;
    cJSON_ArrayForEach (item, kb_json_get(event, "sections")) {
        char letter[2] = {kb_trace_letter(i), 0};
        bool seen = is_seen(item);
        i++;
        if (!seen)
            continue;
        kb_span(&l, kb_timeline_style(i - 1), letter);
        kb_spanf(&l, KB_STYLE_TEXT, " %s", kb_json_text(item, "name", "?"));
        kb_spanf(&l, KB_STYLE_STRONG, " %s  ", kb_show_percent(kb_json_number(item, "share", NAN)).s);
    }
    kb_lines_wrap(out, &l, width, 0, 0);
    kb_line_free(&l);
}

static void add_number(struct kb_line *l, int column, const cJSON *section, const char *what)
{
    char *us_key = kb_format("%s_us", what), *ticks_key = kb_format("%s_ticks", what);
    double us = kb_json_number(section, us_key, NAN), ticks = kb_json_number(section, ticks_key, NAN);
    kb_span_right(l, column, KB_STYLE_NUMBER, isnan(us) ? kb_show_count(floor(ticks + 0.5)).s : kb_show_time(us).s);
    free(us_key);
    free(ticks_key);
}

static void add_row(const cJSON *section, int index, int width, struct kb_lines *out)
{
    struct kb_line *l = kb_lines_add(out);
    char letter[2] = {kb_trace_letter(index), 0};
    kb_span(l, kb_timeline_style(index), letter);
    kb_span(l, KB_STYLE_TEXT, " ");
    kb_span_cut(l, NAME - 3, KB_STYLE_TEXT, kb_json_text(section, "name", "?"));
    kb_span_right(l, NAME + 6, KB_STYLE_STRONG, kb_show_percent(kb_json_number(section, "share", NAN)).s);
    kb_span_right(l, NAME + 18, KB_STYLE_NUMBER, kb_show_count(kb_json_number(section, "spans", 0)).s);
    add_number(l, NAME + 30, section, "mean");
    add_number(l, NAME + 42, section, "median");
    add_number(l, NAME + 54, section, "max");
    if (width >= NAME + 80) {
        char *imbalance = kb_format("%.2f x", kb_json_number(section, "imbalance", NAN));
        kb_span_right(l, NAME + 66, KB_STYLE_NUMBER, imbalance);
        free(imbalance);
        if (kb_json_number(section, "line", 0) > 0)
            kb_spanf(l, KB_STYLE_DIM, "  %s:%d", kb_json_text(section, "file", ""),
                     (int)kb_json_int(section, "line", 0));
    }
}

static void add_table(const cJSON *event, int width, struct kb_lines *out)
{
    const cJSON *item;
    struct kb_line *l = kb_lines_add(out);
    int i = 0;
    kb_span(l, KB_STYLE_DIM, "section");
    kb_span_right(l, NAME + 6, KB_STYLE_DIM, "share");
    kb_span_right(l, NAME + 18, KB_STYLE_DIM, "spans");
    kb_span_right(l, NAME + 30, KB_STYLE_DIM, "mean");
    kb_span_right(l, NAME + 42, KB_STYLE_DIM, "median");
    kb_span_right(l, NAME + 54, KB_STYLE_DIM, "longest");
    if (width >= NAME + 80)
        kb_span(l, KB_STYLE_DIM, "   busiest warp over the mean");
    cJSON_ArrayForEach (item, kb_json_get(event, "sections")) {
        if (is_seen(item))
            add_row(item, i, width, out);
        i++;
    }
}

void kb_timeline_sections(const cJSON *event, int width, int most, struct kb_lines *out)
{
    const cJSON *item;
    int seen = 1; // the table's head
    cJSON_ArrayForEach (item, kb_json_get(event, "sections"))
        seen += is_seen(item);
    if (seen <= most && width >= NAME + 56)
        add_table(event, width, out);
    else
        add_compact(event, width, out);
}
