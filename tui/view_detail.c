// All that is known about the version shown, in full length: verdict, rungs and their reasons, timing, resources,
// counts, device. Where something is unknown, the reason stands here.
#include "base/memory.h"
#include "base/text.h"
#include "tui/detail.h"
#include "tui/facts.h"
#include "tui/format.h"
#include "tui/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_version(const struct kb_model_version *v, int width, struct kb_lines *out)
{
    kb_detail_heading(out, "rungs");
    for (int i = 0; v && i < KB_RUNGS; i++) {
        const struct kb_rung_state *r = &v->rungs[i];
        const char *status = kb_status_name(r->status);
        char *text = kb_format("%-8s%s%s%s", *status ? status : "not yet", isnan(r->ms) ? "" : kb_show_ms(r->ms).s,
                               r->reason ? "  " : "", r->reason ? r->reason : "");
        kb_detail_item(out, width, kb_rungs[i].name, r->status == KB_STATUS_FAIL ? KB_STYLE_BAD : KB_STYLE_TEXT, text);
        free(text);
    }
    if (v && !isnan(v->first_verdict_ms))
        kb_detail_item(out, width, "first verdict", KB_STYLE_NUMBER, kb_show_ms(v->first_verdict_ms).s);
    if (v && v->known)
        kb_detail_item(out, width, "known", KB_STYLE_TEXT, "this content was built before");
    if (v && v->source_hash)
        kb_detail_item(out, width, "source", KB_STYLE_DIM, v->source_hash);
    if (v && v->git)
        kb_detail_item(out, width, "git", KB_STYLE_DIM, v->git);
}

// "registers  (2 blocks/SM by registers, 8 by shared memory, 4 by threads, 32 by blocks)"
static void add_limits(const struct kb_ev_kernel_resources *k, int width, struct kb_lines *out)
{
    const struct kb_ev_limits *limits = k->limits ?: &kb_unknown_limits;
    const struct {
        double blocks;
        const char *name;
    } kinds[] = {{limits->registers, "registers"},
                 {limits->shared_memory, "shared memory"},
                 {limits->threads, "threads"},
                 {limits->blocks, "blocks"}};
    struct kb_text all = {0};
    if (!k->limited_by)
        return;
    for (size_t i = 0; i < KB_COUNT(kinds); i++)
        if (isfinite(kinds[i].blocks))
            kb_text_addf(&all, all.size ? ", %.0f by %s" : "%.0f blocks/SM by %s", kinds[i].blocks, kinds[i].name);
    char *text = all.size ? kb_format("%s  (%s)", k->limited_by, all.data) : kb_strdup(k->limited_by);
    kb_detail_item(out, width, "limited by", KB_STYLE_TEXT, text);
    free(text);
    kb_text_free(&all);
}

static void add_resources(const struct kb_model_version *v, int width, struct kb_lines *out)
{
    const struct kb_ev_resources *r = v->resources ?: &kb_unknown_resources;
    if (r->kernels_count)
        kb_detail_heading(out, "resources");
    for (int i = 0; i < r->kernels_count; i++) {
        const struct kb_ev_kernel_resources *k = &r->kernels[i];
        kb_detail_item(out, width, "kernel", KB_STYLE_STRONG, k->name ?: "?");
        kb_detail_known(out, width, "registers", KB_MEASURED(k, registers), kb_show_count);
        double spills = k->spill_store_bytes + k->spill_load_bytes;
        kb_detail_item(out, width, "spills", spills > 0 ? KB_STYLE_WARN : KB_STYLE_NUMBER, kb_show_bytes(spills).s);
        kb_detail_known(out, width, "shared", KB_MEASURED(k, shared_bytes), kb_show_bytes);
        kb_detail_known(out, width, "dynamic shared", KB_MEASURED(k, dynamic_shared_bytes), kb_show_bytes);
        kb_detail_known(out, width, "block", k->block_threads, NULL, kb_show_count);
        kb_detail_known(out, width, "blocks/SM", KB_MEASURED(k, blocks_per_sm), kb_show_count);
        kb_detail_known(out, width, "occupancy", KB_MEASURED(k, occupancy), kb_show_percent);
        add_limits(k, width, out);
    }
}

static void add_device(const struct kb_app *a, int width, struct kb_lines *out)
{
    const struct kb_ev_device *d = a->model->device;
    const struct kb_ev_roofs *r = a->model->roofs ?: &kb_unknown_roofs;
    if (!d)
        return;
    const struct kb_ev_peaks *peak = KB_WITHIN(d, peak, peaks);
    kb_detail_heading(out, "device");
    kb_detail_item(out, width, "name", KB_STYLE_TEXT, d->name ?: "–");
    kb_detail_item(out, width, "arch", KB_STYLE_TEXT, d->arch ?: "–");
    if (d->driver)
        kb_detail_item(out, width, "driver", KB_STYLE_TEXT, d->driver);
    if (d->reason)
        kb_detail_item(out, width, "reason", KB_STYLE_WARN, d->reason);
    if (d->remedy)
        kb_detail_item(out, width, "remedy", KB_STYLE_TEXT, d->remedy);
    kb_detail_known(out, width, "memory", KB_MEASURED(d, memory_bytes), kb_show_bytes);
    kb_detail_known(out, width, "L2", KB_MEASURED(d, l2_bytes), kb_show_bytes);
    kb_detail_known(out, width, "copy", KB_MEASURED(r, copy_bytes_per_s), kb_show_bytes_rate);
    kb_detail_known(out, width, "same size copy", KB_MEASURED(r, footprint_copy_bytes_per_s), kb_show_bytes_rate);
    kb_detail_known(out, width, "fp32", KB_MEASURED(r, fp32_flops), kb_show_flops_rate);
    kb_detail_known(out, width, "tensor", KB_MEASURED(r, tensor_flops), kb_show_flops_rate);
    kb_detail_known(out, width, "peak memory", KB_MEASURED(peak, dram_bytes_per_s), kb_show_bytes_rate);
    kb_detail_known(out, width, "peak fp32", KB_MEASURED(peak, fp32_flops), kb_show_flops_rate);
    if (peak->source)
        kb_detail_item(out, width, "peaks from", KB_STYLE_DIM, peak->source);
}

static void add_missing(const struct kb_app *a, int width, struct kb_lines *out)
{
    for (int i = 0; i < KB_WORKER_ROLES; i++) {
        const struct kb_ev_libs *libs = a->model->libs[i];
        for (int k = 0; libs && k < libs->libs_count; k++)
            if (libs->libs[k].missing)
                kb_detail_item(out, width, libs->libs[k].name ?: "?", KB_STYLE_WARN, libs->libs[k].missing);
        if (a->model->workers[i].reason)
            kb_detail_item(out, width, kb_worker_role_name((enum kb_worker_role)i), KB_STYLE_TEXT,
                           a->model->workers[i].reason);
    }
    const struct kb_ev_watch *watch = a->model->watch;
    if (watch && watch->remedy)
        kb_detail_item(out, width, "watching", KB_STYLE_WARN, watch->remedy);
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
    kb_detail_heading(out, "last message");
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
        kb_detail_timing(a, v, width, out);
        add_resources(v, width, out);
        int index = kb_app_case(a);
        const struct kb_ev_facts *facts = index < a->model->case_count ? v->cases[index].facts : NULL;
        if (facts) {
            kb_detail_heading(out, "counted, by executing the PTX");
            kb_facts_lines(a, KB_WITHIN(facts, facts, counts), width, out);
        }
        add_version(v, width, out);
    }
    add_device(a, width, out);
    add_missing(a, width, out);
    add_message(a, width, out);
}

const struct kb_view kb_view_detail = {"details", 0, lines, NULL, NULL, NULL, NULL};
