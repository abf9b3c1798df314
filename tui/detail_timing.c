#include "base/json.h"
#include "base/memory.h"
#include "tui/detail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_summary(struct kb_lines *out, int width, const cJSON *timing, const char *which, bool speed)
{
    const cJSON *t = kb_json_get(timing, which);
    char *reason_key = kb_format("%s_reason", which);
    double us = kb_json_number(t, "median_us", NAN);
    char *text;
    if (!speed)
        text = kb_strdup("– a version that failed has no speed");
    else if (isnan(us))
        text = kb_format("– %s", kb_json_text(timing, reason_key, "not measured"));
    else
        text = kb_format("%s  [%s, %s]", kb_show_time(us).s, kb_show_us(kb_json_number(t, "low_us", NAN)).s,
                         kb_show_us(kb_json_number(t, "high_us", NAN)).s);
    kb_detail_item(out, width, which, speed && !isnan(us) ? KB_STYLE_NUMBER : KB_STYLE_UNKNOWN, text);
    free(text);
    free(reason_key);
    if (!speed || isnan(us))
        return;
    double outliers = kb_json_number(t, "outliers", 0);
    text = kb_format("%s%s%s%s", kb_show_count(kb_json_number(t, "samples", NAN)).s, outliers > 0 ? ", outliers " : "",
                     outliers > 0 ? kb_show_count(outliers).s : "",
                     kb_json_bool(t, "drifting", false) ? ", drifting: the last third is unlike the first" : "");
    kb_detail_item(out, width, "  samples", KB_STYLE_TEXT, text);
    free(text);
}

// Two bins in one column where there is no room for all.
static void add_histogram(struct kb_lines *out, int width, const cJSON *histogram)
{
    static const char *const bars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const cJSON *counts = kb_json_get(histogram, "counts"), *n;
    double columns[64] = {0}, most = 0;
    int bins = 0, step = width >= KB_DETAIL_KEY + 40 ? 1 : 2;
    cJSON_ArrayForEach (n, counts) {
        int k = bins / step;
        bins++;
        if (k < (int)KB_COUNT(columns))
            columns[k] += n->valuedouble > 0 ? n->valuedouble : 0;
        most = k < (int)KB_COUNT(columns) && columns[k] > most ? columns[k] : most;
    }
    if (!(most > 0))
        return;
    struct kb_line *l = kb_lines_add(out);
    bool numbers = width >= KB_DETAIL_KEY + 26;
    kb_span(l, KB_STYLE_DIM, "spread");
    kb_span_pad(l, KB_DETAIL_KEY);
    if (numbers)
        kb_spanf(l, KB_STYLE_DIM, "%s ", kb_show_us(kb_json_number(histogram, "low_us", NAN)).s);
    for (int k = 0; k < (bins + step - 1) / step && k < (int)KB_COUNT(columns); k++) {
        int level = columns[k] > 0 ? 1 + (int)(columns[k] / most * 7) : 0;
        char digit[2] = {level ? (char)('0' + level) : '.', 0};
        kb_span(l, KB_STYLE_TRAIL, out->ascii ? digit : bars[level]);
    }
    if (numbers)
        kb_spanf(l, KB_STYLE_DIM, " %s us", kb_show_us(kb_json_number(histogram, "high_us", NAN)).s);
}

static void add_work(const cJSON *timing, int width, struct kb_lines *out)
{
    const cJSON *r = kb_json_get(timing, "roofline");
    kb_detail_measured(out, width, "no run beats", r, "floor_us", kb_show_time);
    kb_detail_measured(out, width, "FLOPs", r, "flops", kb_show_flops);
    kb_detail_measured(out, width, "bytes", r, "bytes", kb_show_bytes);
    kb_detail_item(out, width, "bound", KB_STYLE_TEXT, kb_json_text(r, "bound", "unknown"));
}

// Takes text; nothing where it is NULL.
static void said(struct kb_lines *out, int width, const char *name, enum kb_style style, char *text)
{
    if (text)
        kb_detail_item(out, width, name, style, text);
    free(text);
}

static void add_clock(const cJSON *timing, int width, struct kb_lines *out)
{
    double clock = kb_json_number(timing, "clock_mhz", NAN), low = kb_json_number(timing, "clock_low_mhz", NAN);
    double throttled = kb_json_number(timing, "throttled", 0);
    if (!isnan(clock) && !isnan(low) && low != clock)
        said(out, width, "clock", KB_STYLE_NUMBER, kb_format("%.0f MHz, lowest %.0f", clock, low));
    else if (!isnan(clock))
        said(out, width, "clock", KB_STYLE_NUMBER, kb_format("%.0f MHz", clock));
    if (throttled > 0)
        said(out, width, "throttled", KB_STYLE_WARN,
             kb_format("%s samples at lower clocks, %s", kb_show_count(throttled).s,
                       kb_json_bool(timing, "throttled_kept", false) ? "kept: too few others" : "taken again"));
}

// What the method adds and what it can't tell apart.
static void add_method(const cJSON *timing, const cJSON *versus, int width, struct kb_lines *out)
{
    double batch = kb_json_number(timing, "batch", 1), lost = kb_json_number(timing, "lost_records", 0);
    double noise = kb_json_number(versus, "noise", NAN), others = kb_json_number(timing, "others", 0);
    kb_detail_item(out, width, "timed by", KB_STYLE_TEXT, kb_json_text(timing, "source", "–"));
    if (kb_json_text(timing, "source_reason", NULL))
        kb_detail_item(out, width, "", KB_STYLE_DIM, kb_json_text(timing, "source_reason", ""));
    kb_detail_measured(out, width, "an empty kernel", timing, "method_overhead_us", kb_show_time);
    if (batch > 1)
        said(out, width, "batch", KB_STYLE_TEXT, kb_format("%.0f runs a sample: the kernel is short", batch));
    kb_detail_measured(out, width, "by events", timing, "events_us", kb_show_time);
    if (kb_json_bool(timing, "events_disagree", false))
        kb_detail_item(out, width, "", KB_STYLE_WARN, "events disagree by more than gaps between launches explain");
    if (!isnan(noise))
        said(out, width, "noise floor", KB_STYLE_NUMBER,
             kb_format("±%.2f%%: 99%% of comparisons of identical code stay within", noise * 100));
    else if (versus)
        kb_detail_item(out, width, "noise floor", KB_STYLE_UNKNOWN, "– not known: no identical code was compared yet");
    if (lost > 0)
        said(out, width, "lost records", KB_STYLE_WARN, kb_strdup(kb_show_count(lost).s));
    if (others > 0)
        said(out, width, "others", KB_STYLE_WARN, kb_format("%.0f other processes on the GPU", others));
}

void kb_detail_timing(const struct kb_app *a, const struct kb_model_version *v, int width, struct kb_lines *out)
{
    int index = kb_app_pick_timed_case(a);
    const cJSON *timing = kb_model_timing(a->model, v, index), *launch;
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
    add_summary(out, width, timing, "cold", speed);
    add_summary(out, width, timing, "warm", speed);
    if (speed)
        add_histogram(out, width, kb_json_get(timing, "histogram"));
    if (speed)
        kb_detail_measured(out, width, "call", timing, "call_us", kb_show_time);
    cJSON_ArrayForEach (launch, kb_json_get(timing, "launches")) {
        if (speed && cJSON_GetArraySize(kb_json_get(timing, "launches")) > 1)
            kb_detail_item(out, width, kb_json_text(launch, "kernel", "?"), KB_STYLE_NUMBER,
                           kb_show_time(kb_json_number(launch, "median_us", NAN)).s);
    }
    add_clock(timing, width, out);
    add_method(timing, v->cases[index].versus, width, out);
    add_work(timing, width, out);
}
