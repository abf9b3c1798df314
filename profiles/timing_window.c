#include "profiles/timing_window.h"
#include "base/memory.h"
#include "profiles/cupti_activity.h"
#include "profiles/nvml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct run { // one measured run and its launches
    int window, first, last;
};
struct batch {
    struct run *runs;
    int count, capacity;
};

static int run_target(struct kb_timing_source *s, const struct kb_timing_window *w, struct kb_error *e)
{
    return s->targets[w->target].run(s->targets[w->target].context, w->set, e);
}

static int prepare(struct kb_timing_source *s, const struct kb_timing_window *w, enum kb_timing_before before,
                   struct kb_error *e)
{
    return s->prepare ? s->prepare(s->targets[w->target].context, w->set, before, e) : 0;
}

// What run `i` of the window is to find.
static enum kb_timing_before before(const struct kb_timing_window *w, int i)
{
    return w->before == KB_BEFORE_LOOK && i + 1 < w->batch ? KB_BEFORE_RUN : w->before;
}

// What comes before a run, and before the first of those that go back to back: a cold cache, or a run that brings the
// data into it.
static int lead_in(struct kb_timing_source *s, const struct kb_timing_window *w, int i, struct kb_error *e)
{
    // The flush is a memset on the same stream: it ends before the kernel starts, and is no kernel record.
    if (w->cold)
        return prepare(s, w, before(w, i), e) || s->device->ops->flush(s->device, e) ? -1 : 0;
    if (!i && (prepare(s, w, KB_BEFORE_RUN, e) || run_target(s, w, e)))
        return -1;
    return prepare(s, w, before(w, i), e);
}

static int enqueue_recorded(struct kb_timing_source *s, const struct kb_timing_window *w, int index, struct batch *b,
                            struct kb_error *e)
{
    for (int i = 0; i < w->batch; i++) {
        if (lead_in(s, w, i, e))
            return -1;
        int first = kb_cupti_launches();
        if (run_target(s, w, e))
            return -1;
        KB_GROW(b->runs, b->count, b->capacity);
        b->runs[b->count++] = (struct run){index, first, kb_cupti_launches()};
    }
    return 0;
}

// Adds one run to its window; us and part_us are sums until finish().
static bool add_run(struct kb_timing_window *w, const struct run *run, const struct kb_kernel_span *spans)
{
    uint64_t start = UINT64_MAX, end = 0;
    int unknown = 0;
    for (int i = run->first; i < run->last; i++) {
        unknown += !spans[i].known;
        start = spans[i].start_ns < start ? spans[i].start_ns : start;
        end = spans[i].end_ns > end ? spans[i].end_ns : end;
    }
    w->lost += unknown;
    if (unknown || run->first == run->last)
        return false;
    w->us += (double)(end - start) / 1e3;
    w->parts = run->last - run->first <= KB_MAX_LAUNCHES ? run->last - run->first : 0;
    for (int i = 0; i < w->parts; i++)
        w->part_us[i] += (double)(spans[run->first + i].end_ns - spans[run->first + i].start_ns) / 1e3;
    return true;
}

static void spread(struct kb_timing_window *windows, int count, const struct batch *b,
                   const struct kb_kernel_span *spans)
{
    int *good = kb_alloc((size_t)count * sizeof *good);
    for (int i = 0; i < b->count; i++)
        good[b->runs[i].window] += add_run(&windows[b->runs[i].window], &b->runs[i], spans);
    for (int i = 0; i < count; i++) {
        struct kb_timing_window *w = &windows[i];
        w->us = good[i] ? w->us / good[i] : NAN;
        for (int p = 0; p < w->parts; p++)
            w->part_us[p] /= good[i];
    }
    free(good);
}

static void collect(struct kb_timing_source *s, struct kb_timing_window *windows, int count, const struct batch *b)
{
    int launches = kb_cupti_launches();
    struct kb_kernel_span *spans = kb_alloc((size_t)(launches + 1) * sizeof *spans);
    if (kb_cupti_collect(spans, launches, &s->failure) < 0)
        s->cupti = false;
    else
        spread(windows, count, b, spans);
    free(spans);
}

static int measure_records(struct kb_timing_source *s, struct kb_timing_window *windows, int count, struct kb_error *e)
{
    struct batch b = {0};
    int status = 0;
    if (kb_cupti_begin(&s->failure)) {
        s->cupti = false;
        return 0;
    }
    for (int i = 0; i < count && !status; i++)
        status = enqueue_recorded(s, &windows[i], i, &b, e);
    if (!status)
        s->clock_mhz = kb_gpu_clock_mhz(s->device);
    if (!status)
        status = s->device->ops->sync(s->device, e);
    if (!status)
        collect(s, windows, count, &b);
    free(b.runs);
    return status;
}

static int one_event_window(struct kb_timing_source *s, const struct kb_timing_window *w, int first, int runs,
                            double *us, struct kb_error *e)
{
    const struct kb_device_ops *ops = s->device->ops;
    // The event is recorded behind work that still keeps the GPU busy while the rest is enqueued, so that the window
    // holds no launch latency.
    bool warms_up = !w->cold && first && (prepare(s, w, KB_BEFORE_RUN, e) || run_target(s, w, e));
    if (warms_up || lead_in(s, w, first, e) || ops->time_begin(s->device, e))
        return -1;
    for (int i = 0; i < runs; i++)
        if (run_target(s, w, e))
            return -1;
    return ops->time_end(s->device, us, e);
}

static int measure_events(struct kb_timing_source *s, struct kb_timing_window *windows, int count, struct kb_error *e)
{
    for (int i = 0; i < count; i++) {
        struct kb_timing_window *w = &windows[i];
        int runs = w->cold || s->prepare ? 1 : w->batch;
        for (int j = 0; j < w->batch; j += runs) {
            double us = 0;
            if (one_event_window(s, w, j, runs, &us, e))
                return -1;
            w->us += us / w->batch;
        }
        if (s->targets[w->target].launches == 1) {
            w->parts = 1;
            w->part_us[0] = w->us;
        }
    }
    s->clock_mhz = kb_gpu_clock_mhz(s->device);
    return 0;
}

static void clear(struct kb_timing_window *windows, int count)
{
    for (int i = 0; i < count; i++) {
        windows[i].us = 0;
        windows[i].lost = windows[i].parts = 0;
        memset(windows[i].part_us, 0, sizeof windows[i].part_us);
    }
}

int kb_timing_measure(struct kb_timing_source *s, struct kb_timing_window *windows, int count, struct kb_error *e)
{
    clear(windows, count);
    if (s->cupti && measure_records(s, windows, count, e))
        return -1;
    if (s->cupti)
        return 0;
    clear(windows, count);
    return measure_events(s, windows, count, e);
}

int kb_timing_again(struct kb_timing_source *s, int pairs, double *same_us, double *other_us, struct kb_error *e)
{
    int count = 2 * pairs;
    struct kb_timing_window *windows = kb_alloc((size_t)count * sizeof *windows);
    for (int i = 0; i < count; i++)
        windows[i] =
            (struct kb_timing_window){.batch = 1, .cold = true, .before = i % 2 ? KB_BEFORE_SAME : KB_BEFORE_OTHER};
    int status = kb_timing_measure(s, windows, count, e);
    *same_us = *other_us = NAN;
    for (int i = 0; i < count && !status; i++) {
        double *kind = i % 2 ? same_us : other_us;
        if (i < 2 || isnan(windows[i].us))
            *kind = windows[i].us;
        else if (i % 2 ? windows[i].us > *kind : windows[i].us < *kind) // false once it is NAN
            *kind = windows[i].us;
    }
    free(windows);
    return status;
}
