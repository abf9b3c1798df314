#include "base/memory.h"
#include "tui/detail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_summary(struct kb_lines *out, int width, const char *which, const struct kb_ev_interval *t,
                        const char *reason, bool speed)
{
    char *text;
    t = t ?: &kb_unknown_interval;
    if (!speed)
        text = kb_strdup("– a version that failed has no speed");
    else if (isnan(t->median_us))
        text = kb_format("– %s", reason ?: "not measured");
    else
        text =
            kb_format("%s  [%s, %s]", kb_show_time(t->median_us).s, kb_show_us(t->low_us).s, kb_show_us(t->high_us).s);
    speed = speed && !isnan(t->median_us);
    kb_detail_item(out, width, which, speed ? KB_STYLE_NUMBER : KB_STYLE_UNKNOWN, text);
    free(text);
    if (!speed)
        return;
    bool outliers = t->outliers > 0;
    text = kb_format("%s%s%s%s", kb_show_count(t->samples).s, outliers ? ", outliers " : "",
                     outliers ? kb_show_count(t->outliers).s : "",
                     t->drifting ? ", drifting: the last third is unlike the first" : "");
    kb_detail_item(out, width, "  samples", KB_STYLE_TEXT, text);
    free(text);
}

// Two bins in one column where there is no room for all.
static void add_histogram(struct kb_lines *out, int width, const struct kb_ev_histogram *h)
{
    static const char *const bars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double columns[64] = {0}, most = 0;
    int step = width >= KB_DETAIL_KEY + 40 ? 1 : 2;
    for (int i = 0; i < h->counts_count && i / step < (int)KB_COUNT(columns); i++) {
        columns[i / step] += fmax(h->counts[i], 0);
        most = fmax(most, columns[i / step]);
    }
    if (!(most > 0))
        return;
    struct kb_line *l = kb_lines_add(out);
    bool numbers = width >= KB_DETAIL_KEY + 26;
    kb_span(l, KB_STYLE_DIM, "spread");
    kb_span_pad(l, KB_DETAIL_KEY);
    if (numbers)
        kb_spanf(l, KB_STYLE_DIM, "%s ", kb_show_us(h->low_us).s);
    for (int k = 0; k < (h->counts_count + step - 1) / step && k < (int)KB_COUNT(columns); k++) {
        int level = columns[k] > 0 ? 1 + (int)(columns[k] / most * 7) : 0;
        char digit[2] = {level ? (char)('0' + level) : '.', 0};
        kb_span(l, KB_STYLE_TRAIL, out->ascii ? digit : bars[level]);
    }
    if (numbers)
        kb_spanf(l, KB_STYLE_DIM, " %s us", kb_show_us(h->high_us).s);
}

static void add_work(const struct kb_ev_timing *timing, int width, struct kb_lines *out)
{
    const struct kb_ev_roofline *r = KB_WITHIN(timing, roofline, roofline);
    kb_detail_known(out, width, "no run beats", KB_MEASURED(r, floor_us), kb_show_time);
    kb_detail_known(out, width, "FLOPs", KB_MEASURED(r, flops), kb_show_flops);
    kb_detail_known(out, width, "bytes", KB_MEASURED(r, bytes), kb_show_bytes);
    kb_detail_item(out, width, "bound", KB_STYLE_TEXT, r->bound ?: "unknown");
}

// Takes text; nothing where it is NULL.
static void said(struct kb_lines *out, int width, const char *name, enum kb_style style, char *text)
{
    if (text)
        kb_detail_item(out, width, name, style, text);
    free(text);
}

static void add_clock(const struct kb_ev_timing *timing, int width, struct kb_lines *out)
{
    double clock = timing->clock_mhz, low = timing->clock_low_mhz;
    if (!isnan(clock) && !isnan(low) && low != clock)
        said(out, width, "clock", KB_STYLE_NUMBER, kb_format("%.0f MHz, lowest %.0f", clock, low));
    else if (!isnan(clock))
        said(out, width, "clock", KB_STYLE_NUMBER, kb_format("%.0f MHz", clock));
    if (timing->throttled > 0)
        said(out, width, "throttled", KB_STYLE_WARN,
             kb_format("%s samples at lower clocks, %s", kb_show_count(timing->throttled).s,
                       timing->throttled_kept == KB_YES ? "kept: too few others" : "taken again"));
}

// What the method adds and what it can't tell apart.
static void add_method(const struct kb_ev_timing *timing, const struct kb_ev_versus *versus, int width,
                       struct kb_lines *out)
{
    double noise = versus ? versus->noise : NAN;
    kb_detail_item(out, width, "timed by", KB_STYLE_TEXT, timing->source ?: "–");
    if (timing->source_reason)
        kb_detail_item(out, width, "", KB_STYLE_DIM, timing->source_reason);
    kb_detail_known(out, width, "an empty kernel", KB_MEASURED(timing, method_overhead_us), kb_show_time);
    if (timing->batch > 1)
        said(out, width, "batch", KB_STYLE_TEXT, kb_format("%.0f runs a sample: the kernel is short", timing->batch));
    kb_detail_known(out, width, "by events", KB_MEASURED(timing, events_us), kb_show_time);
    if (timing->events_disagree == KB_YES)
        kb_detail_item(out, width, "", KB_STYLE_WARN, "events disagree by more than gaps between launches explain");
    if (!isnan(noise))
        said(out, width, "noise floor", KB_STYLE_NUMBER,
             kb_format("±%.2f%%: 99%% of comparisons of identical code stay within", noise * 100));
    else if (versus)
        kb_detail_item(out, width, "noise floor", KB_STYLE_UNKNOWN, "– not known: no identical code was compared yet");
    if (timing->lost_records > 0)
        said(out, width, "lost records", KB_STYLE_WARN, kb_strdup(kb_show_count(timing->lost_records).s));
    if (timing->others > 0)
        said(out, width, "others", KB_STYLE_WARN, kb_format("%.0f other processes on the GPU", timing->others));
}

void kb_detail_timing(const struct kb_app *a, const struct kb_model_version *v, int width, struct kb_lines *out)
{
    int index = kb_app_pick_timed_case(a);
    const struct kb_ev_timing *timing = kb_model_timing(a->model, v, index);
    if (!timing)
        return;
    char *title = kb_format("timing, case %s", kb_app_case_label(a, index));
    kb_detail_heading(out, title);
    free(title);
    if (v->rungs[KB_RUNG_TIME].status == KB_STATUS_NA && v->rungs[KB_RUNG_TIME].reason) {
        kb_detail_item(out, width, "time", KB_STYLE_UNKNOWN, v->rungs[KB_RUNG_TIME].reason);
        add_work(timing, width, out);
        return;
    }
    bool speed = !isnan(kb_speed_us(a->model, v, index)) ||
                 (kb_failed_rung(v) < 0 && v->status != KB_STATUS_FAIL && !v->impossible);
    add_summary(out, width, "cold", timing->cold, timing->cold_reason, speed);
    add_summary(out, width, "warm", timing->warm, timing->warm_reason, speed);
    if (speed)
        add_histogram(out, width, KB_WITHIN(timing, histogram, histogram));
    if (speed)
        kb_detail_known(out, width, "call", KB_MEASURED(timing, call_us), kb_show_time);
    for (int i = 0; speed && timing->launches_count > 1 && i < timing->launches_count; i++)
        kb_detail_item(out, width, timing->launches[i].kernel ?: "?", KB_STYLE_NUMBER,
                       kb_show_time(timing->launches[i].median_us).s);
    add_clock(timing, width, out);
    add_method(timing, v->cases[index].versus, width, out);
    add_work(timing, width, out);
}
