// `time`: a version and those it is compared with, on the same input sets, interleaved; then the outputs of the timed
// launches are held against the reference once more.
#include "base/json.h"
#include "base/memory.h"
#include "profiles/nvml.h"
#include "profiles/timing.h"
#include "verify/fill.h"
#include "worker/run.h"
#include "worker/run_timing_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SAMPLES = 10 };
static const double SAME = 0.003; // a share of the time below which two versions count as equally fast

struct target { // a version on one case
    struct run_worker *worker;
    const struct run_version *version;
    struct kb_program program; // loaded anew: fresh globals
    struct kb_plan plan;
    struct kb_case_data *data;
    struct kb_set *sets[KB_MOST_SETS];
    int set_count, run, last_set; // run: which outputs it writes
    uint64_t *addresses;
};
struct job {
    struct run_worker *w;
    const struct kb_frame *f;
    bool settled;
    int budget_ms, cases;
    struct run_version *version, *against[KB_MAX_TARGETS - 1];
    int against_count;
    bool failed, timed;
    char reason[512];
};

static int launch_once(void *context, int set, struct kb_error *e)
{
    struct target *t = context;
    struct kb_data *d = &t->worker->data;
    t->last_set = set % t->set_count;
    kb_data_addresses(d, t->data, t->sets[t->last_set], t->run, t->addresses);
    return kb_plan_launch_all(&t->program, &t->plan, t->version->variant, d->bench, t->addresses, e);
}

// An inout begins as the set has it, each time.
static int restore(void *context, int set, struct kb_error *e)
{
    struct target *t = context;
    struct kb_data *d = &t->worker->data;
    const struct kb_set *s = t->sets[set % t->set_count];
    for (int i = 0; i < d->bench->arg_count; i++) {
        const struct kb_buffer *from = &s->input[i], *to = &t->data->work[t->run][i];
        if (d->bench->args[i].role == KB_INOUT && from->bytes &&
            d->device->ops->copy(d->device, to->address, from->address, from->bytes, e))
            return -1;
    }
    return 0;
}

static bool has_inouts(const struct kb_bench *b)
{
    for (int i = 0; i < b->arg_count; i++)
        if (b->args[i].role == KB_INOUT)
            return true;
    return false;
}

static int interrupted(void *context)
{
    const struct job *j = context;
    return run_cancelled(j->f);
}

static void close_target(struct target *t)
{
    kb_program_unload(&t->program);
    kb_plan_free(&t->plan);
    free(t->addresses);
}

static int open_target(struct run_worker *w, const struct run_version *v, struct kb_case_data *c, int run,
                       struct target *t, struct kb_error *e)
{
    *t = (struct target){.worker = w, .version = v, .data = c, .run = run};
    for (int i = 0; i < c->set_count; i++)
        if (c->sets[i].ready)
            t->sets[t->set_count++] = &c->sets[i];
    t->addresses = kb_alloc((size_t)w->data.bench->arg_count * sizeof *t->addresses);
    if (!kb_plan_make(w->data.bench, c->index, w->data.on_cpu, v->variant, &t->plan, e) &&
        !kb_program_load(w->device, v->variant, v->compiled, &v->image, &t->program, e) &&
        !kb_data_reset(&w->data, c, t->sets[0], run, e))
        return 0;
    close_target(t);
    return -1;
}

static void fail_job(struct job *j, const struct kb_case_data *c, const char *reason)
{
    if (!j->failed)
        snprintf(j->reason, sizeof j->reason, "%s%s%s", j->cases > 1 ? c->label : "", j->cases > 1 ? ": " : "", reason);
    j->failed = true;
}

// Outputs of the last timed launch: right once is not enough.
static int check_after(struct job *j, struct target *t, struct kb_error *e)
{
    struct kb_trial trial = {0};
    // What runs in a row made of an inout is nothing to compare with; one more run of the same module is.
    int failed = has_inouts(j->w->data.bench) && (restore(t, t->last_set, e) || launch_once(t, t->last_set, e) ||
                                                  j->w->device->ops->sync(j->w->device, e));
    failed = failed || kb_trial_compare(&j->w->data, t->data, t->sets[t->last_set], t->run, &trial, e);
    if (!failed && !trial.pass) {
        char *reason = kb_format("right before, wrong after the timed launches: %s", trial.reason);
        fail_job(j, t->data, reason);
        free(reason);
    }
    kb_trial_free(&trial);
    return failed;
}

// A result that is kept in a global, or remembered by pointer, is right until the inputs change: the set gets new
// values in place, and the same module runs once more. Only where the reference is quick enough.
static int check_changed(struct job *j, struct target *t, struct kb_error *e)
{
    struct kb_data *d = &j->w->data;
    struct kb_trial trial = {0};
    bool quick = t->data->reference_us <= (j->settled ? 50e3 : 5e3);
    if (j->failed || !d->has_reference || d->bench->reference.kind != KB_REFERENCE_KERNEL || !quick)
        return 0;
    int failed = kb_set_fill(d, t->data, t->sets[t->last_set], e) ||
                 kb_data_reset(d, t->data, t->sets[t->last_set], t->run, e) || launch_once(t, t->last_set, e) ||
                 d->device->ops->sync(d->device, e) ||
                 kb_trial_compare(d, t->data, t->sets[t->last_set], t->run, &trial, e);
    if (!failed && !trial.pass) {
        char *reason = kb_format("right before, wrong when its inputs change: %s", trial.reason);
        fail_job(j, t->data, reason);
        free(reason);
    }
    kb_trial_free(&trial);
    return failed;
}

static void send_timing(const struct job *j, const struct target *t, const struct kb_timing_result *r)
{
    cJSON *head = kb_frame_head("timing", kb_frame_job(j->f));
    struct kb_work work = run_work(j->w, t->data);
    kb_json_set_text(head, "version", t->version->key);
    kb_json_set_number(head, "case", t->data->index);
    kb_json_set_text(head, "stage", j->settled ? "settled" : "first");
    run_timing_json(head, r, t->version->variant);
    bool cold = r->has_cold || !r->has_warm;
    double us = r->has_cold ? r->cold.median : r->has_warm ? r->warm.median : NAN;
    kb_json_set(head, "roofline", run_roofline_json(j->w, &work, us, cold));
    int others = j->settled ? kb_gpu_others(j->w->device) : -1; // NVML takes its time when it is asked first
    kb_json_measured(head, "others", others, others >= 0 ? NULL : j->settled ? "NVML does not say" : "not looked at");
    kb_worker_send(head, NULL, 0);
}

static void send_versus(const struct job *j, const struct target *a, const struct kb_timing_result *ra,
                        const struct target *b, const struct kb_timing_result *rb)
{
    bool cold = ra->has_cold && rb->has_cold;
    int na = cold ? ra->cold_count : ra->warm_count, nb = cold ? rb->cold_count : rb->warm_count;
    struct kb_comparison c;
    kb_compare_paired(cold ? ra->cold_samples : ra->warm_samples, cold ? rb->cold_samples : rb->warm_samples,
                      na < nb ? na : nb, 0, SAME, &c);
    cJSON *head = kb_frame_head("versus", kb_frame_job(j->f));
    kb_json_set_text(head, "version", a->version->key);
    kb_json_set_text(head, "against", b->version->key);
    kb_json_set_number(head, "case", a->data->index);
    kb_json_set_text(head, "stage", j->settled ? "settled" : "first");
    const char *none = isfinite(c.ratio) ? NULL : "no pair of samples";
    kb_json_measured(head, "ratio", c.ratio, none);
    kb_json_measured(head, "low", c.low, none);
    kb_json_measured(head, "high", c.high, none);
    kb_json_set_text(head, "verdict", kb_verdict_name(c.verdict));
    kb_json_measured(head, "us", cold ? ra->cold.median : ra->warm.median, none);
    kb_json_measured(head, "baseline_us", cold ? rb->cold.median : rb->warm.median, none);
    kb_json_set_bool(head, "paired", c.paired);
    kb_worker_send(head, NULL, 0);
}

static int measure(struct job *j, struct target *targets, int count, struct kb_error *e)
{
    struct kb_timing_target run[KB_MAX_TARGETS];
    struct kb_timing_result results[KB_MAX_TARGETS];
    struct kb_timing_options options = {.budget_ms = j->budget_ms / (j->cases ? j->cases : 1),
                                        .min_samples = j->settled ? 0 : FIRST_SAMPLES,
                                        .sets = targets[0].set_count,
                                        .cold = true,
                                        .warm = j->settled,
                                        .restore = has_inouts(j->w->data.bench) ? restore : NULL,
                                        .interrupted = interrupted,
                                        .interrupt_context = j};
    for (int i = 0; i < count; i++)
        run[i] = (struct kb_timing_target){launch_once, &targets[i], targets[i].plan.launch_count};
    if (options.budget_ms < 1)
        options.budget_ms = 1;
    if (kb_timing_run(j->w->device, run, count, &options, results, e))
        return -1;
    for (int i = 0; i < count; i++)
        j->timed = j->timed || results[i].has_cold || results[i].has_warm;
    int failed = check_after(j, &targets[0], e) || check_changed(j, &targets[0], e);
    bool told = !failed && !j->failed; // a wrong version has no speed
    for (int i = 0; told && i < count; i++)
        send_timing(j, &targets[i], &results[i]);
    for (int i = 1; told && i < count; i++)
        send_versus(j, &targets[0], &results[0], &targets[i], &results[i]);
    for (int i = 0; i < count; i++)
        kb_timing_result_free(&results[i]);
    return failed;
}

static void time_case(struct job *j, struct kb_case_data *c)
{
    struct target targets[KB_MAX_TARGETS];
    struct kb_error error = {0};
    struct run_worker *w = j->w;
    int count = 0, failed = kb_data_prepare(&w->data, c, &error);
    for (int i = -1; !failed && i < j->against_count; i++) {
        const struct run_version *v = i < 0 ? j->version : j->against[i];
        failed = open_target(w, v, c, i < 0 ? 0 : 1, &targets[count], &error);
        count += !failed;
        failed = failed && i < 0; // one that cannot be compared with on this case is left out
    }
    if (!failed)
        failed = measure(j, targets, count, &error);
    for (int i = 0; i < count; i++)
        close_target(&targets[i]);
    if (failed)
        fail_job(j, c, kb_error_line(&error));
}

static bool wanted(const struct job *j, int index)
{
    const cJSON *list = kb_json_get(j->f->head, "cases"), *item;
    if (!cJSON_GetArraySize(list))
        return j->w->data.bench->cases[index].timed;
    cJSON_ArrayForEach(item, list) if (item->valueint == index) return true;
    return false;
}

static void find_against(struct job *j)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, kb_json_get(j->f->head, "against"))
    {
        struct run_version *v = cJSON_IsString(item) ? run_find(j->w, item->valuestring) : NULL;
        if (v && v != j->version && j->against_count < KB_MAX_TARGETS - 1)
            j->against[j->against_count++] = v;
    }
}

// Without a clock: what is known is the work, counted by the device where it counts, else declared.
static void without_clock(struct job *j, int index)
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
    kb_json_set_text(head, "stage", j->settled ? "settled" : "first");
    static const char *const unknown[] = {"cold",  "warm",   "call_us",   "clock_mhz",
                                          "batch", "source", "histogram", "others"};
    for (size_t i = 0; i < KB_COUNT(unknown); i++)
        kb_json_measured(head, unknown[i], NAN, why);
    cJSON *roofline = run_roofline_json(j->w, &work, NAN, true);
    kb_json_set_text(roofline, "floor_source", "modelled");
    kb_json_set(head, "roofline", roofline);
    kb_worker_send(head, NULL, 0);
}

static void finish(struct job *j)
{
    const char *status = j->failed ? "fail" : "pass";
    if (!j->failed && interrupted(j) && !j->timed)
        status = "cancelled";
    else if (!j->failed && !j->timed)
        status = "na";
    run_end(j->w, j->f, "time", status, j->failed ? j->reason : !j->timed ? "nothing was timed" : NULL);
}

void run_time(struct run_worker *w, const struct kb_frame *f)
{
    struct job j = {.w = w,
                    .f = f,
                    .settled = strcmp(kb_json_text(f->head, "stage", "first"), "first") != 0,
                    .budget_ms = (int)kb_json_int(f->head, "budget_ms", 100)};
    j.version = w->has_data ? run_find(w, kb_json_text(f->head, "version", "")) : NULL;
    if (!j.version) {
        run_refuse(w, f, "time", w->has_data ? "this version is not loaded" : "no bench was prepared");
        return;
    }
    find_against(&j);
    int count = w->data.bench->case_count, headline = kb_bench_headline(w->data.bench);
    for (int i = 0; i < count; i++)
        j.cases += wanted(&j, i);
    for (int k = -1; k < count && !run_device_lost(w); k++) { // the headline first
        int index = k < 0 ? headline : k;
        if (!wanted(&j, index) || (k >= 0 && index == headline))
            continue;
        if (interrupted(&j))
            break;
        if (w->device->ops->time_begin)
            time_case(&j, &w->data.cases[index]);
        else
            without_clock(&j, index);
    }
    if (w->device->ops->time_begin)
        finish(&j);
    else
        run_end(w, f, "time", "na", "the CPU's time says nothing about a GPU's");
}
