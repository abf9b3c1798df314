// Whether timed launches were right: what they left, looked at now and then, and what the same module does when its
// inputs change, when nothing changes, and when it is called again and again.
#include "base/clock.h"
#include "base/memory.h"
#include "verify/fill.h"
#include "worker/run_time_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { QUICK_FIRST_US = 5000, QUICK_US = 50000, SLOW_US = 1000000, KEPT_CALLS = 256, KEPT_LOOK = 16 };
void run_time_fail(struct run_time_job *j, const struct kb_case_data *c, const char *reason)
{
    if (!j->failed) {
        j->of_reference = j->w->data.reference_failed;
        snprintf(j->reason, sizeof j->reason, "%s%s%s", j->cases > 1 ? c->label : "", j->cases > 1 ? ": " : "", reason);
    }
    j->failed = true;
}

// What the last launch of a version left, against the reference.
static int judge(struct run_time_job *j, struct run_target *t, const char *when, struct kb_error *e)
{
    struct kb_trial trial = {0};
    int failed = kb_trial_compare(&j->w->data, t->data, t->sets[t->last_set], t->run, &trial, e);
    if (!failed && !trial.pass) {
        char *reason = kb_format("right before, wrong %s: %s", when, trial.reason);
        run_time_fail(j, t->data, reason);
        free(reason);
    }
    kb_trial_free(&trial);
    return failed;
}

static int look_at_module(struct run_time_job *j, struct run_target *t, struct kb_error *e)
{
    if (kb_hold_look(&t->hold, e))
        return -1;
    if (kb_hold_constant_written(&t->hold))
        run_time_fail(j, t->data, "it writes to its constant memory");
    return 0;
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
int run_time_look(void *context, struct kb_error *e)
{
    struct run_time_job *j = context;
    if (judge(j, j->first, "in timed launches", e) || look_at_module(j, j->first, e))
        return -1;
    j->looks++;
    for (int run = 0; run < 2 && !j->failed; run++)
        if (spoil_outputs(j, j->first, run, e))
            return -1;
    return j->failed;
}

// One more run of the same module, on inputs as the set has them.
static int run_again(struct run_target *t, bool restore, struct kb_error *e)
{
    return (restore && kb_hold_restore(&t->hold, e)) ||
                   kb_disturb(t->disturb, t->sets[t->last_set], t->run, false, true, e) ||
                   run_target_restore_inouts(t, e) || run_target_launch_again(t, e)
               ? -1
               : 0;
}

// Outputs of the last timed launch: right once is not enough. What runs in a row made of an inout is nothing to compare
// with, nor is what came of inputs that were changed for a measurement.
static int check_last(struct run_time_job *j, struct run_target *t, struct kb_error *e)
{
    struct kb_device *device = j->w->device;
    if ((run_has_inouts(j->w->data.bench) || kb_disturb_nudged(t->disturb)) &&
        (run_again(t, true, e) || device->ops->sync(device, e)))
        return -1;
    return judge(j, t, "after the timed launches", e) || look_at_module(j, t, e) ? -1 : 0;
}

static void check_memory(struct run_time_job *j, const struct run_target *t, const struct kb_timing_result *r)
{
    const char *unit = j->w->data.on_cpu ? "million instructions" : "us";
    double scale = j->w->data.on_cpu ? RUN_INSTRUCTIONS_A_US / 1e6 : 1;
    if (!kb_timing_remembers(r->same_us, r->other_us))
        return;
    char *reason =
        kb_format("it remembers: the inputs of the launch before take it %.4g %s, others %.4g; what it keeps "
                  "from launch to launch spares it work that is to be timed",
                  r->same_us * scale, unit, r->other_us * scale);
    run_time_fail(j, t->data, reason);
    free(reason);
}

// A module that keeps something, called without anything being put back: what drifts shows.
static int check_kept(struct run_time_job *j, struct run_target *t, struct kb_error *e)
{
    struct kb_device *device = j->w->device;
    int64_t end = kb_now_us() + j->budget_ms * 1000 / 4;
    if (j->failed || !j->settled || !t->hold.written)
        return 0;
    for (int call = 1; call <= KEPT_CALLS && !j->failed && kb_now_us() < end; call++) {
        if (run_again(t, false, e) || device->ops->sync(device, e))
            return -1;
        if (call % KEPT_LOOK == 0 && judge(j, t, "when it is called again and again", e))
            return -1;
    }
    return j->failed ? 0 : judge(j, t, "when it is called again and again", e);
}

// A result that is kept in a global, or remembered by pointer or by a few of the inputs, is right until the inputs
// change: some of the set's values become others in place, and the same module runs once more on outputs as they are.
static int check_changed(struct run_time_job *j, struct run_target *t, struct kb_error *e)
{
    struct kb_data *d = &j->w->data;
    struct kb_set *s = t->sets[t->last_set];
    if (kb_set_touch(d, t->data, s, e) || kb_data_restore(d, t->data, s, t->run, e) || run_target_launch_again(t, e) ||
        d->device->ops->sync(d->device, e))
        return -1;
    return judge(j, t, "when its inputs change", e);
}

static int differs(struct kb_data *d, const struct kb_case_data *c, bool *any, struct kb_error *e)
{
    *any = false;
    for (int i = 0; i < d->bench->arg_count && !*any; i++) {
        struct kb_inspection seen;
        if (!kb_arg_is_written(d->bench->args[i].role))
            continue;
        if (kb_op_inspect(&d->ops, &c->work[0][i], &c->work[1][i], (uint64_t)c->elements[i], d->bench->args[i].dtype,
                          &seen, e))
            return -1;
        *any = seen.differ || seen.unwritten;
    }
    return 0;
}

// Twice on the changed inputs: with all that the module and its outputs hold, then with module memory as loaded and
// other outputs, poisoned.
static int run_both(struct kb_data *d, struct run_target *t, bool *any, struct kb_error *e)
{
    const struct kb_set *s = t->sets[t->last_set];
    int kept = t->run;
    if (kb_data_restore(d, t->data, s, kept, e) || run_target_launch_again(t, e) || kb_hold_look(&t->hold, e) ||
        kb_hold_restore(&t->hold, e) || kb_data_reset(d, t->data, s, !kept, e))
        return -1;
    t->run = !kept;
    int failed = run_target_launch_again(t, e) || d->device->ops->sync(d->device, e);
    t->run = kept;
    return failed ? -1 : differs(d, t->data, any, e);
}

// The same where the reference is slow: it runs only if the two differ, which kernels with one order of sums do not.
static int check_changed_by_itself(struct run_time_job *j, struct run_target *t, struct kb_error *e)
{
    struct kb_data *d = &j->w->data;
    struct kb_set *s = t->sets[t->last_set];
    uint64_t number = s->number, base = s->base;
    bool any = false;
    s->base = base ? 0 : number;
    s->number = ++t->data->next_number;
    s->ready = false;
    if (kb_set_inputs(d, t->data, s, e) || run_both(d, t, &any, e))
        return -1;
    if (any && !kb_reference_is_slower(d, t->data, SLOW_US)) {
        if (kb_set_reference(d, t->data, s, e))
            return -1;
        s->ready = true;
        return judge(j, t, "when its inputs change", e);
    }
    s->number = number;
    s->base = base;
    if (kb_set_inputs(d, t->data, s, e))
        return -1;
    s->ready = true;
    return 0;
}

bool run_target_keeps(const struct run_target *t)
{
    const struct kb_bench *b = t->worker->data.bench;
    for (int i = 0; i < b->arg_count; i++)
        if (b->args[i].role == KB_SCRATCH)
            return true;
    return t->hold.written;
}

static int check_inputs(struct run_time_job *j, struct run_target *t, struct kb_error *e)
{
    const struct kb_data *d = &j->w->data;
    bool quick = d->bench->reference.kind == KB_REFERENCE_KERNEL &&
                 !kb_reference_is_slower(d, t->data, j->settled || d->on_cpu ? QUICK_US : QUICK_FIRST_US);
    if (j->failed || !d->has_reference || (d->on_cpu && !run_target_keeps(t)))
        return 0;
    if (quick)
        return check_changed(j, t, e);
    return j->settled || d->on_cpu || t->hold.written || t->alternates ? check_changed_by_itself(j, t, e) : 0;
}

int run_time_check(struct run_time_job *j, struct run_target *t, const struct kb_timing_result *r, struct kb_error *e)
{
    if (check_last(j, t, e))
        return -1;
    check_memory(j, t, r);
    return check_kept(j, t, e) || check_inputs(j, t, e) ? -1 : 0;
}
