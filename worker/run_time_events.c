// What `time` tells: `timing` and `versus` events.
#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"
#include "jit/compile.h"
#include "worker/run_time_parts.h"
#include "worker/run_timing_json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double SAME = 0.003;         // a share of the time below which two versions count as equally fast
static const double CLEAR_CONTROL = 0.01; // width of the interval of a control that says something about the machine

static const char *stage_name(const struct run_time_job *j)
{
    return j->settled ? "settled" : "first";
}

static void set_others(cJSON *head, const struct run_time_job *j)
{
    const char *why = j->settled ? "NVML does not say" : "not looked at in this stage";
    kb_json_measured(head, "others", j->others, j->others >= 0 ? NULL : why);
}

static void send_timing(const struct run_time_job *j, const struct run_target *t, const struct kb_timing_result *r)
{
    cJSON *head = kb_frame_head("timing", kb_frame_job(j->f));
    struct kb_work work = run_work(j->w, t->data);
    kb_json_set_text(head, "version", t->version->key);
    kb_json_set_number(head, "case", t->data->index);
    kb_json_set_text(head, "stage", stage_name(j));
    run_timing_json(head, r, t->version->variant);
    kb_json_measured(head, "method_overhead_us", j->w->overhead_us,
                     !j->w->overhead_known      ? "not measured yet"
                     : isnan(j->w->overhead_us) ? "the empty kernel could not be timed"
                                                : NULL);
    bool cold = r->has_cold || !r->has_warm;
    double us = r->has_cold ? r->cold.median : r->has_warm ? r->warm.median : NAN;
    kb_json_set(head, "roofline", run_roofline_json(j->w, &work, us, cold));
    set_others(head, j);
    kb_worker_send(head, NULL, 0);
}

static bool same_dims(const struct kb_plan_launch *a, const struct kb_plan_launch *b)
{
    bool same =
        a->arg_count == b->arg_count && a->dims.shared == b->dims.shared && a->dims.cooperative == b->dims.cooperative;
    for (int i = 0; i < 3; i++)
        same = same && a->dims.grid[i] == b->dims.grid[i] && a->dims.block[i] == b->dims.block[i];
    for (int i = 0; same && i < a->arg_count; i++)
        same = a->args[i] == b->args[i];
    return same;
}

static const char *symbol_of(const struct run_version *v, int launch)
{
    const cJSON *kernel = kb_program_compiled(v->compiled, v->variant->launches[launch].kernel, NULL);
    return kb_json_text(kernel, "lowered", "");
}

// Of the whole cubin: a kernel may call functions, and read constants.
static bool same_image(const struct kb_image *a, const struct kb_image *b)
{
    const struct kb_image *both[] = {a, b};
    struct kb_hash code[2], data[2];
    for (int i = 0; i < 2; i++)
        if (!both[i]->cubin_bytes || kb_cubin_code_hash(both[i]->cubin, both[i]->cubin_bytes, NULL, &code[i], NULL) ||
            kb_cubin_data_hash(both[i]->cubin, both[i]->cubin_bytes, &data[i], NULL))
            return false; // not known to be the same
    return !strcmp(code[0].hex, code[1].hex) && !strcmp(data[0].hex, data[1].hex);
}

bool run_same_code(const struct run_target *a, const struct run_target *b)
{
    bool same = a->plan.launch_count == b->plan.launch_count;
    for (int i = 0; same && i < a->plan.launch_count; i++)
        same = same_dims(&a->plan.launches[i], &b->plan.launches[i]) &&
               !strcmp(symbol_of(a->version, i), symbol_of(b->version, i));
    return same && same_image(&a->version->image, &b->version->image);
}

// Identical code as a measure of the machine. The headline only: its cases stand for what people tune. A wide interval
// shows the noise of few samples, which every verdict accounts for by itself.
static void keep_control(const struct run_time_job *j, const struct run_target *a, const struct kb_comparison *c)
{
    if (j->settled && a->data->index == kb_bench_headline(j->w->data.bench) && c->high - c->low <= CLEAR_CONTROL)
        kb_noise_add(&j->w->noise, &j->w->device->info, fabs(c->ratio - 1));
}

static void set_comparison(cJSON *head, const struct kb_comparison *c, bool same_code)
{
    const char *none = isfinite(c->ratio) ? NULL : "no pair of samples";
    kb_json_measured(head, "ratio", c->ratio, none);
    kb_json_measured(head, "low", c->low, none);
    kb_json_measured(head, "high", c->high, none);
    kb_json_set_text(head, "verdict", same_code ? "SAME CODE" : kb_verdict_name(c->verdict));
    kb_json_set_bool(head, "same_code", same_code);
    kb_json_set_bool(head, "paired", c->paired);
}

static void send_versus(const struct run_time_job *j, const struct run_target *a, const struct kb_timing_result *ra,
                        const struct run_target *b, const struct kb_timing_result *rb)
{
    bool cold = ra->has_cold && rb->has_cold, same_code = run_same_code(a, b);
    int na = cold ? ra->cold_count : ra->warm_count, nb = cold ? rb->cold_count : rb->warm_count;
    double noise = kb_noise_known(&j->w->noise, &j->w->device->info);
    struct kb_comparison c;
    kb_compare_paired(cold ? ra->cold_samples : ra->warm_samples, cold ? rb->cold_samples : rb->warm_samples,
                      na < nb ? na : nb, noise, SAME, &c);
    if (same_code) {
        keep_control(j, a, &c);
        noise = kb_noise_known(&j->w->noise, &j->w->device->info);
    }
    cJSON *head = kb_frame_head("versus", kb_frame_job(j->f));
    kb_json_set_text(head, "version", a->version->key);
    kb_json_set_text(head, "against", b->version->key);
    kb_json_set_number(head, "case", a->data->index);
    kb_json_set_text(head, "stage", stage_name(j));
    set_comparison(head, &c, same_code);
    double us = cold ? ra->cold.median : ra->warm.median, before = cold ? rb->cold.median : rb->warm.median;
    kb_json_measured(head, "us", us, isfinite(us) ? NULL : "no sample");
    kb_json_measured(head, "baseline_us", before, isfinite(before) ? NULL : "no sample");
    kb_json_measured(head, "noise", noise, isfinite(noise) ? NULL : "fewer than 5 comparisons of identical code");
    set_others(head, j);
    kb_worker_send(head, NULL, 0);
}

void run_time_tell(const struct run_time_job *j, const struct run_target *targets, const struct kb_timing_result *r,
                   int count)
{
    for (int i = 0; i < count; i++)
        send_timing(j, &targets[i], &r[i]);
    for (int i = 1; i < count; i++)
        send_versus(j, &targets[0], &r[0], &targets[i], &r[i]);
}

void run_time_tell_work(const struct run_time_job *j, int index)
{
    static const char why[] = "the CPU's time says nothing about a GPU's";
    const struct kb_case_data *c = &j->w->data.cases[index];
    struct kb_work work = run_work(j->w, c);
    const struct run_counted *counted = &j->version->counted[index];
    if (counted->known) {
        work.flops = counted->flops;
        work.bytes = counted->bytes;
        snprintf(work.source, sizeof work.source, "counted");
    }
    cJSON *head = kb_frame_head("timing", kb_frame_job(j->f));
    kb_json_set_text(head, "version", j->version->key);
    kb_json_set_number(head, "case", index);
    kb_json_set_text(head, "stage", stage_name(j));
    static const char *const unknown[] = {"cold",  "warm",   "call_us",   "clock_mhz", "clock_low_mhz",
                                          "batch", "source", "histogram", "others",    "method_overhead_us"};
    for (size_t i = 0; i < KB_COUNT(unknown); i++)
        kb_json_measured(head, unknown[i], NAN, why);
    cJSON *roofline = run_roofline_json(j->w, &work, NAN, true);
    kb_json_set_text(roofline, "floor_source", "modelled");
    kb_json_set(head, "roofline", roofline);
    kb_worker_send(head, NULL, 0);
}
