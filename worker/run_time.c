// `time`: a version and those it is compared with, on the same input sets, interleaved; then the outputs of the timed
// launches are held against the reference once more.
//
// Where versions are compared, the sets are gone through twice: the first time the version writes the first outputs and
// the challengers the second, the second time the other way round, so that no address in device memory favours a side.
// What a version finds in its outputs is then of another set than what it is to write.
#include "base/json.h"
#include "base/memory.h"
#include "profiles/nvml.h"
#include "verify/fill.h"
#include "worker/run_time_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SAMPLES = 10 };
static const double FIRST_WIDTH = 0.04; // of a first look, as a share; the settled timing follows at once

static void take_turn(struct run_target *t, int turn)
{
    t->last_set = turn % t->set_count;
    t->run = (t->alternates ? turn / t->set_count + t->challenger : t->challenger) % 2;
}

// Once more, on the set and outputs of the last turn.
static int launch_again(struct run_target *t, struct kb_error *e)
{
    struct kb_data *d = &t->worker->data;
    kb_data_addresses(d, t->data, t->sets[t->last_set], t->run, t->addresses);
    return kb_plan_launch_all(&t->program, &t->plan, t->version->variant, d->bench, t->addresses, e);
}

int run_target_launch(void *context, int turn, struct kb_error *e)
{
    take_turn(context, turn);
    return launch_again(context, e);
}

// An inout begins as the set has it, each time.
static int restore_inouts(const struct run_target *t, struct kb_error *e)
{
    struct kb_data *d = &t->worker->data;
    const struct kb_set *s = t->sets[t->last_set];
    for (int i = 0; i < d->bench->arg_count; i++) {
        const struct kb_buffer *from = &s->input[i], *to = &t->data->work[t->run][i];
        if (d->bench->args[i].role == KB_INOUT && from->bytes &&
            d->device->ops->copy(d->device, to->address, from->address, from->bytes, e))
            return -1;
    }
    return 0;
}

int run_target_restore(void *context, int turn, struct kb_error *e)
{
    take_turn(context, turn);
    return restore_inouts(context, e);
}

bool run_has_inouts(const struct kb_bench *b)
{
    for (int i = 0; i < b->arg_count; i++)
        if (b->args[i].role == KB_INOUT)
            return true;
    return false;
}

static int interrupted(void *context)
{
    const struct run_time_job *j = context;
    return run_cancelled(j->f);
}

void run_target_close(struct run_target *t)
{
    kb_program_unload(&t->program);
    kb_plan_free(&t->plan);
    free(t->addresses);
}

int run_target_open(struct run_worker *w, const struct run_version *v, struct kb_case_data *c, bool challenger,
                    struct run_target *t, struct kb_error *e)
{
    *t = (struct run_target){.worker = w, .version = v, .data = c, .challenger = challenger, .run = challenger};
    for (int i = 0; i < c->set_count; i++)
        if (c->sets[i].ready)
            t->sets[t->set_count++] = &c->sets[i];
    t->addresses = kb_alloc((size_t)w->data.bench->arg_count * sizeof *t->addresses);
    if (!kb_plan_make(w->data.bench, c->index, w->data.on_cpu, v->variant, &t->plan, e) &&
        !kb_program_load(w->device, v->variant, v->compiled, &v->image, &t->program, e) &&
        !kb_data_reset(&w->data, c, t->sets[0], t->run, e))
        return 0;
    run_target_close(t);
    return -1;
}

static void fail_job(struct run_time_job *j, const struct kb_case_data *c, const char *reason)
{
    if (!j->failed)
        snprintf(j->reason, sizeof j->reason, "%s%s%s", j->cases > 1 ? c->label : "", j->cases > 1 ? ": " : "", reason);
    j->failed = true;
}

// What the last launch of a version left, against the reference.
static int judge(struct run_time_job *j, struct run_target *t, const char *when, struct kb_error *e)
{
    struct kb_trial trial = {0};
    int failed = kb_trial_compare(&j->w->data, t->data, t->sets[t->last_set], t->run, &trial, e);
    if (!failed && !trial.pass) {
        char *reason = kb_format("right before, wrong %s: %s", when, trial.reason);
        fail_job(j, t->data, reason);
        free(reason);
    }
    kb_trial_free(&trial);
    return failed;
}

// Outputs get numbers of the result's size that are not the result, scratch its poison: what a version leaves alone, or
// finds by what it wrote last time, is then wrong.
static int spoil_outputs(struct run_time_job *j, const struct run_target *t, int run, struct kb_error *e)
{
    struct kb_data *d = &j->w->data;
    for (int i = 0; i < d->bench->arg_count; i++) {
        const struct kb_arg *a = &d->bench->args[i];
        const struct kb_buffer *b = &t->data->work[run][i];
        bool real = kb_dtype_is_float(a->dtype);
        struct kbe_fill f = {.key = 0x73706f696c + j->looks,
                             .inner = 1,
                             .rows = 1,
                             .b = real ? t->sets[t->last_set]->fallback[i] : 100,
                             .kind = real ? KBE_NORMAL : KBE_INTEGERS,
                             .dtype = (int)a->dtype};
        uint64_t n = (uint64_t)t->data->elements[i];
        if ((a->role == KB_OUTPUT && kb_op_fill(&d->ops, b, n, &f, e)) ||
            (a->role == KB_SCRATCH && kb_op_poison(&d->ops, b, n, a->dtype, run, e)))
            return -1;
    }
    return 0;
}

// In the middle of the timed launches, when no kernel can expect it.
static int check_between(void *context, struct kb_error *e)
{
    struct run_time_job *j = context;
    if (judge(j, j->first, "in timed launches", e))
        return -1;
    j->looks++;
    for (int run = 0; run < 2 && !j->failed; run++)
        if (spoil_outputs(j, j->first, run, e))
            return -1;
    return j->failed;
}

// Outputs of the last timed launch: right once is not enough.
static int check_after(struct run_time_job *j, struct run_target *t, struct kb_error *e)
{
    // What runs in a row made of an inout is nothing to compare with; one more run of the same module is.
    if (run_has_inouts(j->w->data.bench) &&
        (restore_inouts(t, e) || launch_again(t, e) || j->w->device->ops->sync(j->w->device, e)))
        return -1;
    return judge(j, t, "after the timed launches", e);
}

// A result that is kept in a global, or remembered by pointer or by a few of the inputs, is right until the inputs
// change: some of the set's values become others in place where the reference is quick enough, and the same module runs
// once more on outputs as they are. Where that is not possible, on poisoned outputs: those that a version leaves alone
// may hold what a challenger wrote.
static int check_changed(struct run_time_job *j, struct run_target *t, struct kb_error *e)
{
    struct kb_data *d = &j->w->data;
    struct kb_set *s = t->sets[t->last_set];
    bool quick = t->data->reference_us <= (j->settled ? 50e3 : 5e3);
    bool changes = d->has_reference && d->bench->reference.kind == KB_REFERENCE_KERNEL && quick;
    if (j->failed || !(changes || t->alternates))
        return 0;
    if ((changes && kb_set_touch(d, t->data, s, e)) ||
        (changes ? kb_data_restore(d, t->data, s, t->run, e) : kb_data_reset(d, t->data, s, t->run, e)) ||
        launch_again(t, e) || d->device->ops->sync(d->device, e))
        return -1;
    return judge(j, t, changes ? "when its inputs change" : "after the timed launches", e);
}

// The headline gets half of the budget, all other cases together the other half.
static int case_budget_ms(const struct run_time_job *j, const struct kb_case_data *c)
{
    int half = j->budget_ms / 2;
    int budget = j->cases < 2                                      ? j->budget_ms
                 : c->index == kb_bench_headline(j->w->data.bench) ? half
                                                                   : half / (j->cases - 1);
    return budget < 1 ? 1 : budget;
}

// Once a worker, before the first settled timing: what an empty kernel takes.
static int learn_overhead(struct run_time_job *j, struct kb_error *e)
{
    struct run_worker *w = j->w;
    if (!j->settled || w->overhead_known)
        return 0;
    w->overhead_known = true;
    w->overhead_us = NAN;
    if (!w->data.ops.module || !kb_timing_overhead(w->device, w->data.ops.module, &w->overhead_us, e))
        return 0;
    return w->device->fault.kind == KB_FAULT_NONE || w->device->fault.kind == KB_FAULT_REFUSED ? 0 : -1;
}

static int measure(struct run_time_job *j, struct run_target *targets, int count, struct kb_error *e)
{
    struct kb_timing_target run[KB_MAX_TARGETS];
    struct kb_timing_result results[KB_MAX_TARGETS];
    bool inouts = run_has_inouts(j->w->data.bench), alternates = count > 1 && targets[0].set_count > 1;
    struct kb_timing_options options = {.budget_ms = case_budget_ms(j, targets[0].data),
                                        .min_samples = j->settled ? 0 : FIRST_SAMPLES,
                                        .width = j->settled ? 0 : FIRST_WIDTH,
                                        .sets = targets[0].set_count * (alternates ? 2 : 1),
                                        .cold = true,
                                        .warm = j->settled,
                                        .restore = inouts ? run_target_restore : NULL,
                                        .interrupted = interrupted,
                                        .between = j->w->data.has_reference ? check_between : NULL,
                                        .context = j};
    j->first = &targets[0];
    for (int i = 0; i < count; i++) {
        targets[i].alternates = alternates;
        run[i] = (struct kb_timing_target){run_target_launch, &targets[i], targets[i].plan.launch_count};
    }
    if (kb_timing_run(j->w->device, run, count, &options, results, e))
        return -1;
    for (int i = 0; i < count; i++)
        j->timed = j->timed || results[i].has_cold || results[i].has_warm;
    int failed = check_after(j, &targets[0], e) || check_changed(j, &targets[0], e);
    if (!failed && !j->failed) // a wrong version has no speed
        run_time_tell(j, targets, results, count);
    for (int i = 0; i < count; i++)
        kb_timing_result_free(&results[i]);
    return failed;
}

static void time_case(struct run_time_job *j, struct kb_case_data *c)
{
    struct run_target targets[KB_MAX_TARGETS];
    struct kb_error error = {0};
    struct run_worker *w = j->w;
    int count = 0, failed = kb_data_prepare(&w->data, c, &error);
    for (int i = -1; !failed && i < j->against_count; i++) {
        const struct run_version *v = i < 0 ? j->version : j->against[i];
        failed = run_target_open(w, v, c, i >= 0, &targets[count], &error);
        count += !failed;
        failed = failed && i < 0; // one that cannot be compared with on this case is left out
    }
    if (!failed)
        failed = learn_overhead(j, &error) || measure(j, targets, count, &error);
    for (int i = 0; i < count; i++)
        run_target_close(&targets[i]);
    if (failed)
        fail_job(j, c, kb_error_line(&error));
}

static bool wanted(const struct run_time_job *j, int index)
{
    const cJSON *list = kb_json_get(j->f->head, "cases"), *item;
    if (!cJSON_GetArraySize(list))
        return j->w->data.bench->cases[index].timed;
    cJSON_ArrayForEach(item, list) if (item->valueint == index) return true;
    return false;
}

static void find_against(struct run_time_job *j)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, kb_json_get(j->f->head, "against"))
    {
        struct run_version *v = cJSON_IsString(item) ? run_find(j->w, item->valuestring) : NULL;
        if (v && v != j->version && j->against_count < KB_MAX_TARGETS - 1)
            j->against[j->against_count++] = v;
    }
}

static void finish(struct run_time_job *j)
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
    struct run_time_job j = {.w = w,
                             .f = f,
                             .settled = strcmp(kb_json_text(f->head, "stage", "first"), "first") != 0,
                             .budget_ms = (int)kb_json_int(f->head, "budget_ms", 100)};
    j.version = w->has_data ? run_find(w, kb_json_text(f->head, "version", "")) : NULL;
    if (!j.version) {
        run_refuse(w, f, "time", w->has_data ? "this version is not loaded" : "no bench was prepared");
        return;
    }
    find_against(&j);
    // Looked at before the timing, which is what they disturb; not for a first look, which it would make late.
    j.others = j.settled ? kb_gpu_others(w->device) : -1;
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
            run_time_tell_work(&j, index);
    }
    if (w->device->ops->time_begin)
        finish(&j);
    else
        run_end(w, f, "time", "na", "the CPU's time says nothing about a GPU's");
}
