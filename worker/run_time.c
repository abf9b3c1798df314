// `time`: a version and those it is compared with, on the same input sets, interleaved; then the outputs of the timed
// launches are held against the reference once more.
//
// Where versions are compared, the sets are gone through twice: the first time the version writes the first outputs and
// the challengers the second, the second time the other way round, so that no address in device memory favours a side.
// What a version finds in its outputs is then of another set than what it is to write.
#include "base/json.h"
#include "base/memory.h"
#include "profiles/nvml.h"
#include "verify/mask.h"
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
int run_target_launch_again(struct run_target *t, struct kb_error *e)
{
    struct kb_data *d = &t->worker->data;
    if (kb_mask_all(d, e)) // was done before what is measured
        return -1;
    kb_data_addresses(d, t->data, t->sets[t->last_set], t->run, t->addresses);
    return kb_plan_launch_all(&t->program, &t->plan, t->version->variant, d->bench, t->addresses, e);
}

int run_target_launch(void *context, int turn, struct kb_error *e)
{
    struct run_target *t = context;
    take_turn(t, turn);
    t->launches++;
    return run_target_launch_again(t, e);
}

// An inout begins as the set has it, each time.
int run_target_restore_inouts(const struct run_target *t, struct kb_error *e)
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

// A first launch may show that the module writes to memory of its own.
static int restore_module(struct run_target *t, struct kb_error *e)
{
    if (t->launches == 1 && kb_hold_look(&t->hold, e))
        return -1;
    return kb_hold_restore(&t->hold, e);
}

int run_target_prepare(void *context, int turn, enum kb_timing_before before, struct kb_error *e)
{
    struct run_target *t = context;
    bool again = before == KB_BEFORE_SAME, keeps = again || before == KB_BEFORE_OTHER;
    take_turn(t, turn);
    if (kb_mask_all(&t->worker->data, e) || (t->disturb && !keeps && restore_module(t, e)) ||
        (t->disturb && !again &&
         kb_disturb(t->disturb, t->sets[t->last_set], t->run, before != KB_BEFORE_LOOK, true, e)))
        return -1;
    return run_target_restore_inouts(t, e);
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
    if (t->hold.ops)
        kb_hold_close(&t->hold);
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
        !kb_hold_open(&w->data.ops, &t->program, true, &t->hold, e) &&
        !kb_data_reset(&w->data, c, t->sets[0], t->run, e))
        return 0;
    run_target_close(t);
    return -1;
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
                                        .prepare = run_target_prepare,
                                        .restores = inouts,
                                        .again = j->settled,
                                        .interrupted = interrupted,
                                        .between = j->w->data.has_reference ? run_time_look : NULL,
                                        .context = j};
    j->first = &targets[0];
    kb_disturb_open(&j->w->data, targets[0].data, &j->disturb);
    for (int i = 0; i < count; i++) {
        targets[i].alternates = alternates;
        targets[i].disturb = &j->disturb;
        run[i] = (struct kb_timing_target){run_target_launch, &targets[i], targets[i].plan.launch_count};
    }
    if (kb_timing_run(j->w->device, run, count, &options, results, e)) {
        kb_disturb_close(&j->disturb);
        return -1;
    }
    for (int i = 0; i < count; i++)
        j->timed = j->timed || results[i].has_cold || results[i].has_warm;
    int failed = run_time_check(j, &targets[0], &results[0], e);
    if (!failed && !j->failed) // a wrong version has no speed
        run_time_tell(j, targets, results, count);
    for (int i = 0; i < count; i++)
        kb_timing_result_free(&results[i]);
    kb_disturb_close(&j->disturb);
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
    if (failed && (!j->settled || run_device_lost(w))) // a second look that cannot be had says nothing
        run_time_fail(j, c, kb_error_line(&error));
}

static void count_case(struct run_time_job *j, struct kb_case_data *c)
{
    struct kb_error error = {0};
    bool failed = run_time_count(j, c, &error);
    // What the device does not run was said by the rungs before; here there is nothing to time anyway.
    if (failed && !run_was_refused(j->w))
        run_time_fail(j, c, kb_error_line(&error));
    if (!failed && !j->failed)
        run_time_tell_work(j, c->index);
}

static bool wanted(const struct run_time_job *j, int index)
{
    const cJSON *list = kb_json_get(j->f->head, "cases"), *item;
    if (!cJSON_GetArraySize(list))
        return j->w->data.bench->cases[index].timed;
    cJSON_ArrayForEach (item, list)
        if (item->valueint == index)
            return true;
    return false;
}

static void find_against(struct run_time_job *j)
{
    const cJSON *item;
    cJSON_ArrayForEach (item, kb_json_get(j->f->head, "against")) {
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
    j->w->data.reference_failed = j->of_reference;
    run_end(j->w, j->f, "time", status, j->failed ? j->reason : !j->timed ? "nothing was timed" : NULL);
}

// A wrong version has no speed, wherever it is wrong.
static void try_rest(struct run_time_job *j)
{
    char *why = run_verify_rest(j->w, j->f, j->version);
    if (why) {
        snprintf(j->reason, sizeof j->reason, "%s", why);
        j->failed = true;
    }
    free(why);
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
            count_case(&j, &w->data.cases[index]);
    }
    if (j.settled && w->device->ops->time_begin && w->data.has_reference && !j.failed && !interrupted(&j))
        try_rest(&j);
    if (w->device->ops->time_begin || j.failed)
        finish(&j);
    else
        run_end(w, f, "time", "na", "the CPU's time says nothing about a GPU's");
}
