// `counters`: hardware counters of one cold run of a version, stage by stage.
#include "base/clock.h"
#include "base/json.h"
#include "base/memory.h"
#include "profiles/cupti.h"
#include "worker/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct measured { // one stage
    const char *metrics[KB_RANGE_METRICS];
    int count;
    struct kb_range_values values;
    bool done;
    char why[400]; // if it could not be measured
};

struct opening { // what came before
    double release_ms, load_ms;
};

static bool wanted(const char *stage, int s)
{
    if (!strcmp(stage, "bytes"))
        return s == KB_COUNTER_BYTES;
    return s != KB_COUNTER_BYTES || strcmp(stage, "rest") != 0;
}

static cJSON *about_json(const struct kb_counter *c)
{
    cJSON *o = cJSON_CreateObject();
    kb_json_set_text(o, "unit", c->unit);
    if (c->peak)
        kb_json_set_text(o, "peak", c->peak);
    if (c->best > 0)
        kb_json_set_number(o, "best", c->best);
    kb_json_set_text(o, "about", c->about);
    return o;
}

static cJSON *peaks_json(const struct kb_peaks *p)
{
    static const char unknown[] = "unknown for this device";
    cJSON *o = cJSON_CreateObject();
    kb_json_measured(o, "dram_bytes_per_s", p->dram_bytes_per_s, isnan(p->dram_bytes_per_s) ? unknown : NULL);
    kb_json_measured(o, "l2_bytes_per_s", p->l2_bytes_per_s, isnan(p->l2_bytes_per_s) ? unknown : NULL);
    kb_json_measured(o, "fp32_flops", p->fp32_flops, isnan(p->fp32_flops) ? unknown : NULL);
    kb_json_measured(o, "fp64_flops", p->fp64_flops, isnan(p->fp64_flops) ? unknown : NULL);
    kb_json_measured(o, "f16_tensor_flops", p->f16_tensor_flops, isnan(p->f16_tensor_flops) ? unknown : NULL);
    kb_json_set_text(o, "source", p->source);
    return o;
}

static void set_metric(cJSON *metrics, const char *name, double value, const char *reason)
{
    char *key = kb_format("%s_reason", name);
    cJSON_DeleteItemFromObjectCaseSensitive(metrics, key);
    cJSON_DeleteItemFromObjectCaseSensitive(metrics, name);
    kb_json_measured(metrics, name, value, isnan(value) ? reason : NULL);
    free(key);
}

// Where the time went, over all stages.
static cJSON *steps_json(const struct measured *all, const struct opening *o)
{
    cJSON *steps = cJSON_CreateObject();
    kb_json_set_number(steps, "release", o->release_ms);
    kb_json_set_number(steps, "load", o->load_ms);
    for (int step = 0; step < KB_RANGE_STEPS; step++) {
        double ms = 0;
        for (int s = 0; s < KB_COUNTER_STAGES; s++)
            ms += all[s].values.step_ms[step];
        kb_json_set_number(steps, kb_range_steps[step], ms);
    }
    return steps;
}

static void send_counters(const struct profile_target *t, const char *stage, const struct measured *all,
                          const struct opening *o)
{
    cJSON *head = kb_frame_head("counters", kb_frame_job(t->request)), *metrics = cJSON_CreateObject(),
          *about = cJSON_CreateObject();
    int passes = 0;
    for (int i = 0; i < kb_counter_count; i++) {
        const struct kb_counter *c = &kb_counters[i];
        const struct measured *m = &all[c->stage];
        const char *reason = m->why;
        if (!wanted(stage, (int)c->stage) || cJSON_IsNumber(kb_json_get(metrics, c->name)))
            continue; // an earlier row of this name is known
        double value =
            m->done ? kb_counter_value(c, m->metrics, m->values.value, m->values.why, m->count, &reason) : NAN;
        if (isnan(value) && kb_json_get(metrics, c->name))
            continue; // the reason of the first row stands
        set_metric(metrics, c->name, value, reason);
        kb_json_set(about, c->name, about_json(c));
    }
    for (int s = 0; s < KB_COUNTER_STAGES; s++)
        passes += all[s].values.passes;
    kb_json_set_text(head, "version", t->version->key);
    kb_json_set_number(head, "case", t->data->index);
    kb_json_set_text(head, "stage", stage);
    kb_json_set_text(head, "source", "cupti range profiler");
    kb_json_set_number(head, "passes", passes);
    kb_json_set_bool(head, "cold", true);
    kb_json_set(head, "steps_ms", steps_json(all, o));
    kb_json_set(head, "metrics", metrics);
    kb_json_set(head, "about", about);
    kb_json_set(head, "peaks", peaks_json(&t->worker->run.peaks));
    kb_worker_send(head, NULL, 0);
}

static bool interrupted(void *target)
{
    const struct profile_target *t = target;
    return run_cancelled(t->request);
}

// 0: something was measured, or 1: cancelled; -1 with the first refusal.
static int measure(struct profile_target *t, const char *stage, struct measured *all, struct kb_error *e)
{
    struct kb_range_run run = {profile_before, profile_launch, t, interrupted};
    bool any = false;
    int first = 0;
    for (int s = 0; s < KB_COUNTER_STAGES; s++) {
        struct measured *m = &all[s];
        struct kb_error error = {0};
        snprintf(m->why, sizeof m->why, "not measured");
        if (!wanted(stage, s))
            continue;
        if (run_cancelled(t->request))
            return 1;
        m->count = kb_counter_metrics((enum kb_counter_stage)s, m->metrics, KB_RANGE_METRICS);
        int result = kb_ranges_measure(t->worker->run.device, m->metrics, m->count, &run, &m->values, &error);
        if (result > 0)
            return 1;
        m->done = !result;
        any = any || m->done;
        if (m->done)
            continue;
        snprintf(m->why, sizeof m->why, "%.390s", error.what);
        if (!first++)
            *e = error;
        if (run_device_lost(&t->worker->run))
            return -1;
    }
    return any ? 0 : -1;
}

void profile_counters(struct profile_worker *p, const struct kb_frame *f)
{
    const char *stage = kb_json_text(f->head, "stage", "bytes");
    struct run_version *v = profile_version(p, f, "counters");
    struct profile_target t;
    struct kb_error error = {0};
    if (!v || profile_is_refused(p, f, "counters"))
        return;
    if (run_cancelled(f)) { // before the hardware is given back: a save will want it
        profile_end(p, f, "counters", "cancelled", NULL, NULL);
        return;
    }
    int64_t begun = kb_now_us();
    kb_pcs_release(); // one piece of hardware serves both
    int64_t released = kb_now_us();
    if (profile_open(p, f, v, &t, &error)) {
        profile_end(p, f, "counters", "fail", kb_error_line(&error), NULL);
        return;
    }
    const struct opening opening = {(double)(released - begun) / 1000, (double)(kb_now_us() - released) / 1000};
    struct measured *all = kb_alloc(KB_COUNTER_STAGES * sizeof *all);
    int result = measure(&t, stage, all, &error);
    if (result < 0) {
        profile_refuse(p, f, "counters", &error);
    } else if (result > 0) {
        profile_end(p, f, "counters", "cancelled", NULL, NULL);
    } else {
        send_counters(&t, stage, all, &opening);
        kb_cupti_take_refusal();
        profile_end(p, f, "counters", "pass", NULL, NULL);
    }
    free(all);
    profile_close(&t);
}
