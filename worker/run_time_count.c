// A device without a clock: nothing to time, but what a timed launch would gain from the one before shows in the
// instructions that it executes.
#include "worker/run_time_parts.h"

#include <math.h>

enum { PAIRS = 3, LONG_US = 500 * 1000 };

static int count_launch(struct run_target *t, enum kb_timing_before before, double *us, struct kb_error *e)
{
    struct kb_device *device = t->worker->device;
    uint64_t from = device->executed;
    if (run_target_prepare(t, 0, before, e) || run_target_launch(t, 0, e) || device->ops->sync(device, e))
        return -1;
    *us = (double)(device->executed - from) / RUN_INSTRUCTIONS_A_US;
    return 0;
}

// On the CPU device, which lets a kernel reach nothing else, only what the module wrote to, and scratch, can hold
// anything for the next launch, apart from the outputs themselves. More than one pair only where the first one looks
// suspicious: blocks start in another order each time, and threads that wait for each other execute more or less.
static int count_pairs(struct run_target *t, struct kb_timing_result *r, struct kb_error *e)
{
    for (int i = 0; i < PAIRS && (!i || kb_timing_remembers(r->same_us, r->other_us)); i++) {
        double other, same;
        if (count_launch(t, KB_BEFORE_OTHER, &other, e))
            return -1;
        if (other > LONG_US)
            return 0;
        if (!i && kb_hold_look(&t->hold, e))
            return -1;
        r->other_us = i ? fmin(r->other_us, other) : other;
        if (!run_target_keeps(t))
            return 0;
        if (count_launch(t, KB_BEFORE_SAME, &same, e))
            return -1;
        r->same_us = i ? fmax(r->same_us, same) : same;
    }
    return 0;
}

int run_time_count(struct run_time_job *j, struct kb_case_data *c, struct kb_error *e)
{
    struct kb_timing_result r = {.same_us = NAN, .other_us = NAN};
    struct run_target t;
    if (!c->usable || kb_data_prepare(&j->w->data, c, e)) // that it cannot be used was said before
        return c->usable || !c->no_memory ? -1 : 0;
    if (run_target_open(j->w, j->version, c, false, &t, e))
        return -1;
    kb_disturb_open(&j->w->data, c, &j->disturb);
    t.disturb = &j->disturb;
    j->first = &t;
    int failed = count_pairs(&t, &r, e);
    if (!failed && isfinite(r.other_us) && !run_cancelled(j->f))
        failed = run_time_check(j, &t, &r, e);
    kb_disturb_close(&j->disturb);
    run_target_close(&t);
    return failed;
}
