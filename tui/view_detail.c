// All that is known about the version shown, in full length: verdict, rungs and their reasons, timing, resources,
// counts, device. Where something is unknown, the reason stands here.
#include "base/json.h"
#include "base/memory.h"
#include "tui/facts.h"
#include "tui/format.h"
#include "tui/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_WIDTH = 16 };

static void heading(struct kb_lines *out, const char *text)
{
    if (out->count)
        kb_lines_add(out);
    kb_span(kb_lines_add(out), KB_STYLE_TITLE, text);
}

static void item(struct kb_lines *out, int width, const char *key, enum kb_style style, const char *value)
{
    struct kb_line line = {.ascii = out->ascii};
    kb_span_cut(&line, KEY_WIDTH - 1, KB_STYLE_DIM, key);
    kb_span_pad(&line, KEY_WIDTH);
    kb_span(&line, style, value);
    kb_lines_wrap(out, &line, width, KEY_WIDTH, 0);
    kb_line_free(&line);
}

// A measured field in its unit, or the reason why it is unknown.
static void measured(struct kb_lines *out, int width, const char *name, const cJSON *object, const char *key,
                     struct kb_short (*show)(double))
{
    double value = kb_json_number(object, key, NAN);
    char *reason_key = kb_format("%s_reason", key);
    const char *reason = kb_json_text(object, reason_key, NULL);
    if (!isnan(value)) {
        item(out, width, name, KB_STYLE_NUMBER, show(value).s);
    } else if (reason) {
        char *text = kb_format("– %s", reason);
        item(out, width, name, KB_STYLE_UNKNOWN, text);
        free(text);
    }
    free(reason_key);
}

static void add_version(const struct kb_model_version *v, int width, struct kb_lines *out)
{
    heading(out, "rungs");
    for (int i = 0; v && i < KB_RUNGS; i++) {
        const struct kb_rung_state *r = &v->rungs[i];
        const char *status = kb_status_name(r->status);
        char *text = kb_format("%-8s%s%s%s", *status ? status : "not yet", isnan(r->ms) ? "" : kb_show_ms(r->ms).s,
                               r->reason ? "  " : "", r->reason ? r->reason : "");
        item(out, width, kb_rungs[i].name, r->status == KB_STATUS_FAIL ? KB_STYLE_BAD : KB_STYLE_TEXT, text);
        free(text);
    }
    if (v && !isnan(v->first_verdict_ms))
        item(out, width, "first verdict", KB_STYLE_NUMBER, kb_show_ms(v->first_verdict_ms).s);
    if (v && v->known)
        item(out, width, "known", KB_STYLE_TEXT, "this content was built before");
    if (v && v->source_hash)
        item(out, width, "source", KB_STYLE_DIM, v->source_hash);
    if (v && v->git)
        item(out, width, "git", KB_STYLE_DIM, v->git);
}

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
    item(out, width, which, speed && !isnan(us) ? KB_STYLE_NUMBER : KB_STYLE_UNKNOWN, text);
    free(text);
    free(reason_key);
    if (!speed || isnan(us))
        return;
    double outliers = kb_json_number(t, "outliers", 0);
    text = kb_format("%s%s%s", kb_show_count(kb_json_number(t, "samples", NAN)).s, outliers > 0 ? ", outliers " : "",
                     outliers > 0 ? kb_show_count(outliers).s : "");
    item(out, width, "  samples", KB_STYLE_TEXT, text);
    free(text);
}

// Two bins in one column where there is no room for all.
static void add_histogram(struct kb_lines *out, int width, const cJSON *histogram)
{
    static const char *const bars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const cJSON *counts = kb_json_get(histogram, "counts"), *n;
    double columns[64] = {0}, most = 0;
    int bins = 0, step = width >= KEY_WIDTH + 40 ? 1 : 2;
    cJSON_ArrayForEach(n, counts)
    {
        int k = bins / step;
        bins++;
        if (k < (int)KB_COUNT(columns))
            columns[k] += n->valuedouble > 0 ? n->valuedouble : 0;
        most = k < (int)KB_COUNT(columns) && columns[k] > most ? columns[k] : most;
    }
    if (!(most > 0))
        return;
    struct kb_line *l = kb_lines_add(out);
    bool numbers = width >= KEY_WIDTH + 26;
    kb_span(l, KB_STYLE_DIM, "spread");
    kb_span_pad(l, KEY_WIDTH);
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
    measured(out, width, "floor", r, "floor_us", kb_show_time);
    measured(out, width, "FLOPs", r, "flops", kb_show_flops);
    measured(out, width, "bytes", r, "bytes", kb_show_bytes);
    item(out, width, "bound", KB_STYLE_TEXT, kb_json_text(r, "bound", "unknown"));
}

static void add_timing(const struct kb_app *a, const struct kb_model_version *v, int width, struct kb_lines *out)
{
    int index = kb_app_pick_timed_case(a);
    const cJSON *timing = kb_model_timing(a->model, v, index), *launch;
    if (!timing)
        return;
    char *title = kb_format("timing, case %s", kb_app_case_label(a, index));
    heading(out, title);
    free(title);
    if (v->rungs[KB_RUNG_TIME].status == KB_STATUS_NA && v->rungs[KB_RUNG_TIME].reason) {
        item(out, width, "time", KB_STYLE_UNKNOWN, v->rungs[KB_RUNG_TIME].reason);
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
        measured(out, width, "call", timing, "call_us", kb_show_time);
    cJSON_ArrayForEach(launch, kb_json_get(timing, "launches"))
    {
        if (speed && cJSON_GetArraySize(kb_json_get(timing, "launches")) > 1)
            item(out, width, kb_json_text(launch, "kernel", "?"), KB_STYLE_NUMBER,
                 kb_show_time(kb_json_number(launch, "median_us", NAN)).s);
    }
    item(out, width, "timed by", KB_STYLE_TEXT, kb_json_text(timing, "source", "–"));
    if (kb_json_text(timing, "source_reason", NULL))
        item(out, width, "", KB_STYLE_DIM, kb_json_text(timing, "source_reason", ""));
    add_work(timing, width, out);
}

static void add_resources(const struct kb_model_version *v, int width, struct kb_lines *out)
{
    const cJSON *k, *kernels = kb_json_get(v->resources, "kernels");
    if (cJSON_GetArraySize(kernels))
        heading(out, "resources");
    cJSON_ArrayForEach(k, kernels)
    {
        item(out, width, "kernel", KB_STYLE_STRONG, kb_json_text(k, "name", "?"));
        measured(out, width, "registers", k, "registers", kb_show_count);
        double spills = kb_json_number(k, "spill_store_bytes", NAN) + kb_json_number(k, "spill_load_bytes", NAN);
        item(out, width, "spills", spills > 0 ? KB_STYLE_WARN : KB_STYLE_NUMBER, kb_show_bytes(spills).s);
        measured(out, width, "shared", k, "shared_bytes", kb_show_bytes);
        measured(out, width, "dynamic shared", k, "dynamic_shared_bytes", kb_show_bytes);
        measured(out, width, "block", k, "block_threads", kb_show_count);
        measured(out, width, "blocks/SM", k, "blocks_per_sm", kb_show_count);
        measured(out, width, "occupancy", k, "occupancy", kb_show_percent);
        if (kb_json_text(k, "limited_by", NULL))
            item(out, width, "limited by", KB_STYLE_TEXT, kb_json_text(k, "limited_by", ""));
    }
}

static void add_device(const struct kb_app *a, int width, struct kb_lines *out)
{
    const cJSON *d = a->model->device, *peak = kb_json_get(d, "peak"), *r = a->model->roofs;
    if (!d)
        return;
    heading(out, "device");
    item(out, width, "name", KB_STYLE_TEXT, kb_json_text(d, "name", "–"));
    item(out, width, "arch", KB_STYLE_TEXT, kb_json_text(d, "arch", "–"));
    if (kb_json_text(d, "driver", NULL))
        item(out, width, "driver", KB_STYLE_TEXT, kb_json_text(d, "driver", ""));
    if (kb_json_text(d, "reason", NULL))
        item(out, width, "reason", KB_STYLE_WARN, kb_json_text(d, "reason", ""));
    if (kb_json_text(d, "remedy", NULL))
        item(out, width, "remedy", KB_STYLE_TEXT, kb_json_text(d, "remedy", ""));
    measured(out, width, "memory", d, "memory_bytes", kb_show_bytes);
    measured(out, width, "L2", d, "l2_bytes", kb_show_bytes);
    measured(out, width, "copy", r, "copy_bytes_per_s", kb_show_bytes_rate);
    measured(out, width, "same size copy", r, "footprint_copy_bytes_per_s", kb_show_bytes_rate);
    measured(out, width, "fp32", r, "fp32_flops", kb_show_flops_rate);
    measured(out, width, "tensor", r, "tensor_flops", kb_show_flops_rate);
    measured(out, width, "peak memory", peak, "dram_bytes_per_s", kb_show_bytes_rate);
    measured(out, width, "peak fp32", peak, "fp32_flops", kb_show_flops_rate);
    if (kb_json_text(peak, "source", NULL))
        item(out, width, "peaks from", KB_STYLE_DIM, kb_json_text(peak, "source", ""));
}

static void add_missing(const struct kb_app *a, int width, struct kb_lines *out)
{
    for (int i = 0; i < KB_WORKER_ROLES; i++) {
        const cJSON *lib;
        cJSON_ArrayForEach(lib, kb_json_get(a->model->libs[i], "libs"))
        {
            const char *missing = kb_json_text(lib, "missing", NULL);
            if (missing)
                item(out, width, kb_json_text(lib, "name", "?"), KB_STYLE_WARN, missing);
        }
        if (a->model->workers[i].reason)
            item(out, width, kb_worker_role_name((enum kb_worker_role)i), KB_STYLE_TEXT, a->model->workers[i].reason);
    }
    if (kb_json_text(a->model->watch, "remedy", NULL))
        item(out, width, "watching", KB_STYLE_WARN, kb_json_text(a->model->watch, "remedy", ""));
}

// The line over the panes may have been cut: zoomed, it stands here in full.
static void add_verdict(const struct kb_app *a, const struct kb_model_version *v, int width, struct kb_lines *out)
{
    struct kb_subject s;
    struct kb_line verdict = {.ascii = a->ascii};
    kb_app_subject(a, a->variant, v, &s);
    kb_verdict_line(&verdict, &s);
    kb_lines_wrap(out, &verdict, width, 2, 0);
    kb_line_free(&verdict);
}

// The footer's message in full.
static void add_message(const struct kb_app *a, int width, struct kb_lines *out)
{
    const struct kb_model *m = a->model;
    if (!m->status_text)
        return;
    heading(out, "last message");
    kb_lines_text(out, KB_STYLE_TEXT, width, 0, m->status_text);
    if (m->status_remedy)
        kb_lines_text(out, KB_STYLE_DIM, width, 0, m->status_remedy);
}

static void lines(const struct kb_app *a, int width, struct kb_lines *out)
{
    const struct kb_model_version *v = kb_app_version(a);
    if (a->zoom)
        add_verdict(a, v, width, out);
    if (v) {
        add_timing(a, v, width, out);
        add_resources(v, width, out);
        int index = kb_app_case(a);
        const cJSON *facts = index < a->model->case_count ? v->cases[index].facts : NULL;
        if (facts) {
            heading(out, "counted, by executing the PTX");
            kb_facts_lines(a, facts, width, out);
        }
        add_version(v, width, out);
    }
    add_device(a, width, out);
    add_missing(a, width, out);
    add_message(a, width, out);
}

const struct kb_view kb_view_detail = {"details", 0, lines, NULL, NULL, NULL, NULL};
