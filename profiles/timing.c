#include "profiles/timing.h"
#include "base/clock.h"
#include "base/memory.h"
#include "profiles/cupti_activity.h"
#include "profiles/nvml.h"
#include "profiles/order.h"
#include "profiles/timing_window.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    DEFAULT_SAMPLES = 10,
    CHUNK_US = 10000, // between two looks at waiting requests
    MOST_ROUNDS = 64, // a chunk
    CALLS = 5,
    AGAIN_PAIRS = 4,
};
// Kernel records are exact to tens of ns, events to about half a microsecond.
static const double SHORT_RECORD_US = 5, BATCH_RECORD_US = 20, SHORT_EVENT_US = 50, BATCH_EVENT_US = 100;
enum { MOST_BATCH_RECORD = 16, MOST_BATCH_EVENT = 64 };
static const double DEFAULT_WIDTH = 0.005;
static const double THROTTLED = 0.98; // of the median clock; GPUs step theirs by 15 MHz, under 1%

struct series {
    double *samples, *clocks; // clocks: MHz while the sample's chunk ran, NAN if unknown
    int count, capacity;
    double *parts[KB_MAX_LAUNCHES]; // by launch, as many as samples
    int part_count;
};
struct progress { // of one target
    struct series cold, warm;
    double pilot_us;
    int batch, lost;
};
struct timing {
    struct kb_timing_source source;
    int targets;
    const struct kb_timing_options *options;
    struct progress progress[KB_MAX_TARGETS];
    int64_t start_us;
    double round_us;    // host time of one round, as last seen
    int chunks;         // measured
    int64_t between_us; // spent in looking at results
    double held_mhz[2]; // median clock of the samples, warm and cold; NAN before
    char reason[200];
    bool interrupted;
};

void kb_timing_result_free(struct kb_timing_result *result)
{
    free(result->cold_samples);
    free(result->warm_samples);
    result->cold_samples = result->warm_samples = NULL;
    result->cold_count = result->warm_count = 0;
}

void kb_timing_prepare(struct kb_device *device)
{
    if (device->ops->flush && !device->ops->flush(device, NULL))
        device->ops->sync(device, NULL);
    if (device->ops->time_begin) {
        kb_cupti_open(NULL);
        kb_gpu_clock_mhz(device);
    }
}

static bool interrupted(struct timing *t)
{
    if (!t->interrupted && t->options->interrupted)
        t->interrupted = t->options->interrupted(t->options->context);
    return t->interrupted;
}

static double elapsed_share(const struct timing *t)
{
    double budget = t->options->budget_ms > 0 ? t->options->budget_ms * 1e3 : 1;
    return (double)(kb_now_us() - t->start_us) / budget;
}

static void use_events(struct timing *t, const struct kb_error *why)
{
    t->source.cupti = false;
    snprintf(t->reason, sizeof t->reason, "%.199s", kb_error_line(why));
}

static struct series *series_of(const struct timing *t, int target, bool cold)
{
    const struct progress *p = &t->progress[target];
    return (struct series *)(cold ? &p->cold : &p->warm);
}

static void add(struct series *s, const struct kb_timing_window *w, double clock_mhz)
{
    int before = s->capacity;
    KB_GROW(s->samples, s->count, s->capacity);
    if (s->capacity != before)
        s->clocks = kb_realloc(s->clocks, (size_t)s->capacity * sizeof *s->clocks);
    s->clocks[s->count] = clock_mhz;
    for (int p = 0; p < KB_MAX_LAUNCHES; p++) {
        if (s->capacity != before)
            s->parts[p] = kb_realloc(s->parts[p], (size_t)s->capacity * sizeof *s->parts[p]);
        s->parts[p][s->count] = p < w->parts && isfinite(w->us) ? w->part_us[p] : NAN;
    }
    if (w->parts > s->part_count)
        s->part_count = w->parts;
    s->samples[s->count++] = w->us;
}

// Samples of two sources do not mix.
static void start_over(struct timing *t)
{
    for (int i = 0; i < t->targets; i++) {
        t->progress[i].cold.count = t->progress[i].warm.count = 0;
        t->progress[i].pilot_us = NAN;
    }
}

// As kb_timing_measure, and where CUPTI fails on the way or delivers nothing at all, goes on by events. *any: there is
// a usable time among the windows.
static int measure_somehow(struct timing *t, struct kb_timing_window *windows, int count, bool *any, struct kb_error *e)
{
    bool records = t->source.cupti;
    t->source.clock_mhz = NAN;
    if (kb_timing_measure(&t->source, windows, count, e))
        return -1;
    if (records && !t->source.cupti) {
        use_events(t, &t->source.failure);
        start_over(t);
    }
    *any = false;
    for (int i = 0; i < count; i++)
        *any |= isfinite(windows[i].us);
    return 0;
}

// One window a target, to learn what a round costs. Not a sample: code, page tables and clocks are still cold.
static int pilot_once(struct timing *t, bool *any, struct kb_error *e)
{
    struct kb_timing_window windows[KB_MAX_TARGETS];
    for (int i = 0; i < t->targets; i++)
        windows[i] =
            (struct kb_timing_window){.target = i, .batch = 1, .before = KB_BEFORE_LOOK, .cold = t->options->cold};
    int64_t before = kb_now_us();
    if (measure_somehow(t, windows, t->targets, any, e))
        return -1;
    t->round_us = (double)(kb_now_us() - before);
    for (int i = 0; i < t->targets; i++)
        t->progress[i].pilot_us = windows[i].us;
    return 0;
}

static void records_vanish(struct timing *t)
{
    use_events(t, &(struct kb_error){.what = "CUPTI delivered no usable kernel records"});
    start_over(t);
}

static int pilot(struct timing *t, struct kb_error *e)
{
    bool any = false;
    // CUPTI may lose the first records of a session; only the second time is it a reason to give up on it.
    for (int attempt = 0; attempt < 2 && !any; attempt++)
        if (pilot_once(t, &any, e))
            return -1;
    if (any)
        return 0;
    if (t->source.cupti)
        records_vanish(t);
    return pilot_once(t, &any, e);
}

static int least_samples(const struct timing *t)
{
    return t->options->min_samples > 0 ? t->options->min_samples : DEFAULT_SAMPLES;
}

static void choose_batches(struct timing *t)
{
    double brief = t->source.cupti ? SHORT_RECORD_US : SHORT_EVENT_US;
    double wanted = t->source.cupti ? BATCH_RECORD_US : BATCH_EVENT_US;
    int most = t->source.cupti ? MOST_BATCH_RECORD : MOST_BATCH_EVENT;
    // No larger than what lets all samples fit into half of the budget.
    double affordable = t->options->budget_ms * 500.0 / (least_samples(t) * (t->round_us > 1 ? t->round_us : 1));
    for (int i = 0; i < t->targets; i++) {
        double us = t->progress[i].pilot_us, batch = 1;
        if (us < brief) // false for NAN
            batch = us > 0 ? ceil(wanted / us) : most;
        batch = fmin(fmin(batch, most), floor(affordable));
        t->progress[i].batch = batch > 1 ? (int)batch : 1;
        if (batch > 1)
            t->round_us += t->round_us * (batch - 1) / t->targets;
    }
}

// A clock that the GPU holds under this load is the clock of the measurement, whatever it promised before; what is
// lower than most of the samples had is throttled. All targets of a round share its clock.
static void learn_clock(struct timing *t, bool cold)
{
    const struct series *s = series_of(t, 0, cold);
    struct kb_summary clocks;
    kb_summarize(s->clocks, s->count, &clocks);
    t->held_mhz[cold] = clocks.median;
}

static bool is_throttled(const struct timing *t, bool cold, double clock_mhz)
{
    return clock_mhz < THROTTLED * t->held_mhz[cold]; // false where either is NAN
}

// Samples of a series without those of throttled clocks, which become NAN; owned by the caller.
static double *unthrottled(const struct timing *t, int target, bool cold)
{
    const struct series *s = series_of(t, target, cold);
    double *samples = kb_alloc((size_t)(s->count + 1) * sizeof *samples);
    for (int i = 0; i < s->count; i++)
        samples[i] = is_throttled(t, cold, s->clocks[i]) ? NAN : s->samples[i];
    return samples;
}

static bool narrow(const struct timing *t, const double *samples, const double *first, int count)
{
    double width = t->options->width > 0 ? t->options->width : DEFAULT_WIDTH;
    struct kb_summary summary;
    struct kb_comparison ratio;
    kb_summarize(samples, count, &summary);
    if (!(summary.high - summary.low <= width * summary.median))
        return false;
    if (samples == first || t->options->min_samples > 0)
        return true;
    kb_compare_paired(samples, first, count, 0, 0, &ratio);
    return ratio.high - ratio.low <= width;
}

static bool settled(const struct timing *t, bool cold)
{
    double *samples[KB_MAX_TARGETS];
    bool all = true;
    for (int i = 0; i < t->targets; i++) {
        samples[i] = unthrottled(t, i, cold);
        all = all && narrow(t, samples[i], samples[0], series_of(t, i, cold)->count);
    }
    for (int i = 0; i < t->targets; i++)
        free(samples[i]);
    return all;
}

static int rounds_done(const struct timing *t, bool cold)
{
    return series_of(t, 0, cold)->count;
}

static int rounds_unthrottled(const struct timing *t, bool cold)
{
    const struct series *s = series_of(t, 0, cold);
    int rounds = 0;
    for (int i = 0; i < s->count; i++)
        rounds += !is_throttled(t, cold, s->clocks[i]);
    return rounds;
}

// How many rounds come next; 0: the stage is over. Up to `soft` of the budget for a narrow interval, up to `hard` for
// the least number of samples, of which throttled ones do not count.
static int next_chunk(const struct timing *t, bool cold, double soft, double hard)
{
    int least = least_samples(t), done = rounds_unthrottled(t, cold);
    double used = elapsed_share(t), round = t->round_us > 1 ? t->round_us : 1;
    if (done >= least && (used >= soft || settled(t, cold)))
        return 0;
    double left = ((done < least ? hard : soft) - used) * t->options->budget_ms * 1e3;
    double rounds = floor(fmin(left, fmax(CHUNK_US, round)) / round);
    if (done < least)
        rounds = fmin(rounds, least - done);
    return rounds < 1 ? 0 : (int)fmin(rounds, MOST_ROUNDS);
}

static int measure_rounds(struct timing *t, bool cold, int rounds, struct kb_error *e)
{
    int first = rounds_done(t, cold), sets = t->options->sets > 0 ? t->options->sets : 1, n = rounds * t->targets;
    struct kb_timing_window *windows = kb_alloc((size_t)n * sizeof *windows);
    for (int i = 0; i < n; i++) {
        int round = first + i / t->targets, place = i % t->targets;
        int target = round % 2 ? t->targets - 1 - place : place; // A B, B A: a drift falls on both alike
        // Both orders on each set.
        windows[i] = (struct kb_timing_window){.target = target,
                                               .set = round / 2 % sets,
                                               .batch = t->progress[target].batch,
                                               .before = n - i <= t->targets ? KB_BEFORE_LOOK : KB_BEFORE_RUN,
                                               .cold = cold};
    }
    int64_t before = kb_now_us();
    bool any = true;
    int status = measure_somehow(t, windows, n, &any, e);
    t->round_us = (double)(kb_now_us() - before) / rounds;
    for (int i = 0; i < n && !status; i++) {
        add(series_of(t, windows[i].target, cold), &windows[i], t->source.clock_mhz);
        t->progress[windows[i].target].lost += windows[i].lost;
    }
    learn_clock(t, cold);
    if (!any && t->source.cupti)
        records_vanish(t);
    free(windows);
    return status;
}

static int look_between(struct timing *t, struct kb_error *e)
{
    int64_t before = kb_now_us();
    if (!t->chunks++ || !t->options->between || t->between_us * 10 > before - t->start_us)
        return 0;
    int found = t->options->between(t->options->context, e);
    t->between_us += kb_now_us() - before;
    t->interrupted = t->interrupted || found > 0;
    return found < 0 ? -1 : 0;
}

static int stage(struct timing *t, bool cold, double soft, double hard, struct kb_error *e)
{
    int rounds;
    while (!interrupted(t) && (rounds = next_chunk(t, cold, soft, hard)) > 0) {
        if (look_between(t, e))
            return -1;
        if (!t->interrupted && measure_rounds(t, cold, rounds, e))
            return -1;
    }
    return 0;
}

// A run that is longer than the whole budget has only its pilot; that one sample is better than none.
static void fall_back_to_pilot(struct timing *t)
{
    for (int i = 0; i < t->targets; i++) {
        struct series *s = series_of(t, i, t->options->cold);
        if (!s->count)
            add(s, &(struct kb_timing_window){.us = t->progress[i].pilot_us}, t->source.clock_mhz);
    }
}

static double host_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int time_calls(struct timing *t, int target, double *call_us, struct kb_error *e)
{
    const struct kb_timing_target *it = &t->source.targets[target];
    struct kb_device *device = t->source.device;
    double samples[CALLS];
    int count = 0;
    for (int i = 0; i <= CALLS && elapsed_share(t) < 1.8; i++) {
        if ((t->options->prepare && t->options->prepare(it->context, 0, KB_BEFORE_LOOK, e)) ||
            device->ops->sync(device, e))
            return -1;
        double before = host_us();
        if (it->run(it->context, 0, e) || device->ops->sync(device, e))
            return -1;
        if (i) // the first one warms up
            samples[count++] = host_us() - before;
    }
    kb_sort_samples(samples, count);
    *call_us = kb_median_sorted(samples, count);
    return 0;
}

static int time_events(struct timing *t, int target, double *events_us, struct kb_error *e)
{
    double us = t->progress[target].pilot_us;
    struct kb_timing_source events = t->source;
    struct kb_timing_window window = {.target = target, .batch = us > 0 && us < 500 ? (int)fmin(500 / us, 20) + 1 : 1};
    if (elapsed_share(t) >= 1.8)
        return 0;
    events.cupti = false;
    if (!t->options->restores) // in one window, back to back
        events.prepare = NULL;
    if (kb_timing_measure(&events, &window, 1, e))
        return -1;
    *events_us = window.us;
    return 0;
}

bool kb_timing_remembers(double same_us, double other_us)
{
    return same_us < 0.7 * other_us && other_us - same_us > 1;
}

// With as many pairs as fit into a fifth of the budget, but two where that fits into it at all.
static int time_again(struct timing *t, struct kb_timing_result *r, struct kb_error *e)
{
    double pair_us = 2 * t->round_us / (t->targets * t->progress[0].batch), budget_us = t->options->budget_ms * 1e3;
    double pairs = fmin(floor(budget_us / 5 / (pair_us > 1 ? pair_us : 1)), AGAIN_PAIRS);
    if (pairs < 2 && 2 * pair_us > budget_us)
        return 0;
    for (int i = 0; i < 2 && (!i || kb_timing_remembers(r->same_us, r->other_us)); i++) { // not on one suspicion
        double same, other;
        if (kb_timing_again(&t->source, pairs < 2 ? 2 : (int)pairs, &same, &other, e))
            return -1;
        r->same_us = i ? fmax(r->same_us, same) : same;
        r->other_us = i ? fmin(r->other_us, other) : other;
    }
    return 0;
}

// Throttled samples are left out if enough others are left.
static void leave_out(const struct timing *t, int target, bool cold, int *throttled, bool *kept)
{
    struct series *s = series_of(t, target, cold);
    int low = s->count - rounds_unthrottled(t, cold);
    *throttled = low;
    *kept = low && s->count - low < least_samples(t);
    for (int i = 0; i < s->count && low && !*kept; i++)
        if (is_throttled(t, cold, s->clocks[i])) {
            s->samples[i] = s->clocks[i] = NAN;
            for (int p = 0; p < KB_MAX_LAUNCHES; p++)
                s->parts[p][i] = NAN;
        }
}

// Events see the gaps between launches too, so only long runs can be too long by them; none can be shorter.
static bool disagree(double events_us, double warm_us)
{
    return events_us < 0.9 * warm_us - 1 || (warm_us > 50 && events_us > 1.2 * warm_us); // false where one is NAN
}

static void take(struct series *s, double **samples, int *count, struct kb_summary *summary, bool *has)
{
    kb_summarize(s->samples, s->count, summary);
    *has = summary->samples > 0;
    *samples = s->samples;
    *count = s->count;
    s->samples = NULL;
}

static void fill_result(struct timing *t, int target, struct kb_timing_result *r)
{
    struct progress *p = &t->progress[target];
    bool cold = t->options->cold, kept;
    int throttled;
    struct kb_summary clocks;
    leave_out(t, target, !cold, &throttled, &kept);
    leave_out(t, target, cold, &r->throttled, &r->throttled_kept);
    kb_summarize(series_of(t, target, cold)->clocks, series_of(t, target, cold)->count, &clocks);
    r->clock_mhz = clocks.median;
    r->clock_low_mhz = clocks.min;
    take(&p->cold, &r->cold_samples, &r->cold_count, &r->cold, &r->has_cold);
    take(&p->warm, &r->warm_samples, &r->warm_count, &r->warm, &r->has_warm);
    const struct series *s = p->cold.part_count ? &p->cold : &p->warm;
    for (int i = 0; i < KB_MAX_LAUNCHES; i++) {
        struct kb_summary part = {.median = NAN};
        if (i < s->part_count)
            kb_summarize(s->parts[i], s->count, &part);
        r->launch_us[i] = part.median;
    }
    snprintf(r->source, sizeof r->source, "%s", t->source.cupti ? "cupti" : "events");
    snprintf(r->source_reason, sizeof r->source_reason, "%s", t->reason);
    r->batch = p->batch;
    r->lost_records = p->lost;
}

static void release(struct timing *t)
{
    for (int i = 0; i < t->targets; i++) {
        struct series *both[] = {&t->progress[i].cold, &t->progress[i].warm};
        for (int s = 0; s < 2; s++) {
            free(both[s]->samples);
            free(both[s]->clocks);
            for (int p = 0; p < KB_MAX_LAUNCHES; p++)
                free(both[s]->parts[p]);
        }
    }
}

static int measure(struct timing *t, struct kb_timing_result *results, struct kb_error *e)
{
    const struct kb_timing_options *o = t->options;
    if (pilot(t, e))
        return -1;
    choose_batches(t);
    if (o->cold && stage(t, true, o->warm ? 0.7 : 0.9, o->warm ? 1.2 : 1.6, e))
        return -1;
    if (o->warm && stage(t, false, 0.9, 1.6, e))
        return -1;
    if (o->cold && !rounds_done(t, true) && stage(t, true, 1.2, 1.6, e)) // its records were discarded on the way
        return -1;
    fall_back_to_pilot(t);
    for (int i = 0; i < t->targets; i++) {
        fill_result(t, i, &results[i]);
        if (!i && o->again && !interrupted(t) && time_again(t, &results[i], e))
            return -1;
        if (!o->warm) // a first look: the cross-check and the view from the host are left to the settled one
            continue;
        if (t->source.cupti && !interrupted(t) && time_events(t, i, &results[i].events_us, e))
            return -1;
        results[i].events_disagree = disagree(results[i].events_us, results[i].warm.median);
        if (!interrupted(t) && time_calls(t, i, &results[i].call_us, e))
            return -1;
    }
    return 0;
}

int kb_timing_run(struct kb_device *device, const struct kb_timing_target *targets, int count,
                  const struct kb_timing_options *options, struct kb_timing_result *results, struct kb_error *e)
{
    if (!device->ops->flush || !device->ops->time_begin || !device->ops->time_end)
        return kb_fail(e, NULL, "time on a GPU", "this device has no clock that says anything about a GPU");
    if (count < 1 || count > KB_MAX_TARGETS || !(options->cold || options->warm))
        return kb_fail(e, NULL, NULL, "nothing to time (%d targets)", count);
    struct timing t = {.source = {.device = device, .targets = targets, .prepare = options->prepare, .clock_mhz = NAN},
                       .held_mhz = {NAN, NAN},
                       .targets = count,
                       .options = options};
    struct kb_error why = {0};
    t.source.cupti = !kb_cupti_open(&why);
    if (!t.source.cupti)
        use_events(&t, &why);
    t.start_us = kb_now_us(); // opening CUPTI for the first time is not the budget's business
    for (int i = 0; i < count; i++)
        results[i] = (struct kb_timing_result){
            .call_us = NAN, .events_us = NAN, .clock_mhz = NAN, .clock_low_mhz = NAN, .same_us = NAN, .other_us = NAN};
    int status = measure(&t, results, e);
    for (int i = 0; i < count && status; i++)
        kb_timing_result_free(&results[i]);
    release(&t);
    return status;
}
