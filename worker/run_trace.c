// `trace`: one run of a version whose marked sections record when they begin, and what that recording costs.
//
// The traced code is run once to learn how many events a warp has, so that the buffers fit; then both versions are
// timed by the same method as ever, the traced one with the buffers in use; then it is run twice more in a row. The
// last run is the one that is told; the one before gives the rate of the multiprocessors' clocks.
#include "base/json.h"
#include "base/memory.h"
#include "profiles/trace.h"
#include "worker/run_time_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 64, BUDGET_MS = 200 };

struct tracing {
    struct run_worker *w;
    const struct kb_frame *f;
    struct run_version traced; // as loaded versions are, but not among them
    struct run_target plain, with;
    bool plain_open, with_open;
    struct kb_case_data *c;
    uint64_t setup; // address of the constant
    struct kb_trace_plan plans[KB_MAX_LAUNCHES];
    int launches;
    struct kb_buffer warps, events;
    struct kb_section_warp *host_warps, *before; // before: of the run before
    unsigned long long *host_events;
    size_t warp_count, event_count;
    cJSON *slowdown;
};

static unsigned warps_of(const struct kb_plan_launch *l)
{
    return (unsigned)((l->dims.block[0] * l->dims.block[1] * l->dims.block[2] + 31) / 32);
}

static uint64_t blocks_of(const struct kb_plan_launch *l)
{
    return (uint64_t)l->dims.grid[0] * (uint64_t)l->dims.grid[1] * (uint64_t)l->dims.grid[2];
}

// ---- buffers

static void free_buffers(struct tracing *t)
{
    struct kb_device *d = t->w->device;
    if (t->warps.base)
        d->ops->free(d, &t->warps);
    if (t->events.base)
        d->ops->free(d, &t->events);
    free(t->host_warps);
    free(t->before);
    free(t->host_events);
    t->host_warps = t->before = NULL;
    t->host_events = NULL;
}

// capacity: events a warp, by launch.
static int make_buffers(struct tracing *t, const unsigned *capacity, struct kb_error *e)
{
    struct kb_device *d = t->w->device;
    free_buffers(t);
    t->warp_count = t->event_count = 0;
    for (int i = 0; i < t->launches; i++) {
        const struct kb_plan_launch *l = &t->with.plan.launches[i];
        kb_trace_plan(blocks_of(l), warps_of(l), capacity[i], KB_TRACE_EVENTS / (size_t)t->launches,
                      KB_TRACE_WARPS / (size_t)t->launches, &t->plans[i]);
        size_t slots = (size_t)t->plans[i].recorded * t->plans[i].warps;
        t->warp_count += slots;
        t->event_count += slots * t->plans[i].capacity;
    }
    struct kb_buffer_spec warps = {.bytes = t->warp_count * sizeof *t->host_warps, .name = "the trace's warps"},
                          events = {.bytes = t->event_count * sizeof *t->host_events, .name = "the trace's events"};
    warps.dtype = events.dtype = KB_I64;
    if (d->ops->alloc(d, &warps, &t->warps, e) || d->ops->alloc(d, &events, &t->events, e))
        return -1;
    t->host_warps = kb_alloc(warps.bytes);
    t->before = kb_alloc(warps.bytes);
    t->host_events = kb_alloc(events.bytes);
    return 0;
}

// Where in the buffers a launch's part begins.
static void part_of(const struct tracing *t, int launch, size_t *warp, size_t *event)
{
    *warp = *event = 0;
    for (int i = 0; i < launch; i++) {
        size_t slots = (size_t)t->plans[i].recorded * t->plans[i].warps;
        *warp += slots;
        *event += slots * t->plans[i].capacity;
    }
}

static int set_up(struct tracing *t, int launch, struct kb_error *e)
{
    const struct kb_trace_plan *p = &t->plans[launch];
    size_t warp, event;
    part_of(t, launch, &warp, &event);
    struct kb_section_setup s = {.warps = t->warps.address + warp * sizeof *t->host_warps,
                                 .events = t->events.address + event * sizeof *t->host_events,
                                 .slots = p->recorded * p->warps,
                                 .capacity = p->capacity,
                                 .first = p->first,
                                 .middle = p->middle,
                                 .last = p->last};
    return t->w->device->ops->to_device(t->w->device, t->setup, &s, sizeof s, e);
}

// ---- runs

static int begin_run(struct tracing *t, struct run_target *target, struct kb_error *e)
{
    struct kb_device *d = t->w->device;
    return kb_data_reset(&t->w->data, t->c, target->sets[0], target->run, e) || (d->ops->flush && d->ops->flush(d, e));
}

// Instructions that the CPU device executed in the last launch; NAN where nothing counts.
static double instructions(struct kb_device *d)
{
    cJSON *facts = d->ops->facts ? d->ops->facts(d) : NULL;
    double n = kb_json_number(facts, "instructions", NAN);
    cJSON_Delete(facts);
    return n;
}

// One launch after the other. count: NULL, or gets the executed instructions of all.
static int launch_all(struct tracing *t, struct run_target *target, bool traced, double *count, struct kb_error *e)
{
    struct kb_data *data = &t->w->data;
    kb_data_addresses(data, t->c, target->sets[0], target->run, target->addresses);
    for (int i = 0; i < target->plan.launch_count; i++) {
        if ((traced && set_up(t, i, e)) || kb_plan_launch_one(&target->program, &target->plan, target->version->variant,
                                                              data->bench, target->addresses, i, e))
            return -1;
        if (count)
            *count += instructions(t->w->device);
    }
    return t->w->device->ops->sync(t->w->device, e);
}

static int record(struct tracing *t, double *count, struct kb_error *e)
{
    struct kb_device *d = t->w->device;
    struct kb_section_warp *swap = t->before;
    t->before = t->host_warps;
    t->host_warps = swap;
    return d->ops->fill(d, t->warps.address, 0, t->warps.bytes, e) ||
                   d->ops->fill(d, t->events.address, 0, t->events.bytes, e) || begin_run(t, &t->with, e) ||
                   launch_all(t, &t->with, true, count, e) ||
                   d->ops->to_host(d, t->host_warps, t->warps.address, t->warps.bytes, e) ||
                   d->ops->to_host(d, t->host_events, t->events.address, t->events.bytes, e)
               ? -1
               : 0;
}

// ---- what it costs

static void set_slowdown(struct tracing *t, double plain, double traced, const char *unit, const char *method,
                         const char *why)
{
    bool known = plain > 0 && traced > 0;
    why = known ? NULL : why;
    kb_json_measured(t->slowdown, "ratio", known ? traced / plain : NAN, why);
    kb_json_measured(t->slowdown, "plain", plain, why);
    kb_json_measured(t->slowdown, "traced", traced, why);
    kb_json_set_text(t->slowdown, "unit", unit);
    kb_json_set_text(t->slowdown, "method", method);
}

static int interrupted(void *context)
{
    const struct tracing *t = context;
    return run_cancelled(t->f);
}

static int time_both(struct tracing *t, struct kb_error *e)
{
    struct kb_timing_target run[2] = {{run_target_launch, &t->plain, t->launches},
                                      {run_target_launch, &t->with, t->launches}};
    struct kb_timing_result results[2];
    struct kb_timing_options options = {.budget_ms = (int)kb_json_int(t->f->head, "budget_ms", BUDGET_MS),
                                        .sets = t->plain.set_count,
                                        .cold = true,
                                        .prepare = run_target_prepare,
                                        .restores = run_has_inouts(t->w->data.bench),
                                        .interrupted = interrupted,
                                        .context = t};
    if (set_up(t, 0, e) || kb_timing_run(t->w->device, run, 2, &options, results, e))
        return -1;
    char *method = kb_format("%s, cold, medians", results[0].source);
    set_slowdown(t, results[0].has_cold ? results[0].cold.median : NAN,
                 results[1].has_cold ? results[1].cold.median : NAN, "us", method, "it was not timed");
    free(method);
    kb_timing_result_free(&results[0]);
    kb_timing_result_free(&results[1]);
    return 0;
}

static int count_both(struct tracing *t, double traced, struct kb_error *e)
{
    double plain = 0;
    if (begin_run(t, &t->plain, e) || launch_all(t, &t->plain, false, &plain, e))
        return -1;
    set_slowdown(t, plain, traced, "warp instructions", "counted by executing the PTX", "nothing was counted");
    return 0;
}

// ---- the answer

static double registers_of(const struct run_version *v)
{
    return kb_json_number(kb_program_compiled(v->compiled, v->variant->launches[0].kernel, NULL), "registers", NAN);
}

static void set_registers(struct tracing *t, cJSON *head)
{
    static const char why[] = "the compiler did not say";
    cJSON *o = cJSON_AddObjectToObject(head, "registers");
    double plain = registers_of(t->plain.version), traced = registers_of(&t->traced);
    kb_json_measured(o, "plain", plain, isnan(plain) ? why : NULL);
    kb_json_measured(o, "traced", traced, isnan(traced) ? why : NULL);
}

// Code that records is other code: its outputs are held against the reference, too.
static int set_right(struct tracing *t, cJSON *head, struct kb_error *e)
{
    struct kb_trial trial = {0};
    struct kb_data *d = &t->w->data;
    if (!d->has_reference) {
        kb_json_measured(head, "right", NAN, d->no_reference ? d->no_reference : "there is no reference");
        return 0;
    }
    if (kb_trial_compare(d, t->c, t->with.sets[0], t->with.run, &trial, e))
        return -1;
    kb_json_set_bool(head, "right", trial.pass);
    kb_worker_set_clean(head, "wrong", trial.pass ? NULL : trial.reason, 500);
    kb_trial_free(&trial);
    return 0;
}

static void read_names(struct tracing *t, struct kb_trace *trace)
{
    const cJSON *item;
    cJSON_ArrayForEach (item, kb_json_get(t->f->head, "sections"))
        kb_trace_add_section(trace, kb_json_text(item, "name", "?"), kb_json_text(item, "file", ""),
                             (int)kb_json_int(item, "line", 0), (unsigned)kb_json_int(item, "id", 0));
    if (trace->section_count > 1)
        return;
    free(trace->sections[0].name);
    trace->sections[0].name = kb_strdup("whole kernel");
}

static int tell(struct tracing *t, struct kb_error *e)
{
    struct kb_trace trace;
    size_t size;
    kb_trace_begin(&trace, t->w->data.on_cpu);
    read_names(t, &trace);
    if (!trace.emulated)
        trace.ticks_per_us = kb_trace_rate(t->before, t->warp_count, t->host_warps, t->warp_count);
    for (int i = 0; i < t->launches; i++) {
        size_t warp, event;
        part_of(t, i, &warp, &event);
        struct kb_trace_raw raw = {t->host_warps + warp, t->host_events + event};
        kb_trace_add_launch(&trace, t->traced.variant->launches[i].kernel, &t->plans[i], &raw);
    }
    kb_trace_sum_up(&trace);
    cJSON *head = kb_frame_head("trace", kb_frame_job(t->f));
    kb_json_set_text(head, "version", t->traced.key);
    kb_json_set_number(head, "case", t->c->index);
    kb_json_set_text(head, "source",
                     trace.emulated ? "emulated: instructions of the warp, not time" : "the multiprocessors' clocks");
    kb_json_set(head, "slowdown", t->slowdown);
    t->slowdown = NULL;
    set_registers(t, head);
    int failed = set_right(t, head, e);
    kb_trace_to_json(&trace, head);
    char *blob = kb_trace_pack(&trace, &size);
    if (failed)
        cJSON_Delete(head);
    else
        kb_worker_send(head, blob, size);
    free(blob);
    kb_trace_free(&trace);
    return failed;
}

// ---- the request

static int open_both(struct tracing *t, const struct run_version *v, struct kb_error *e)
{
    struct run_worker *w = t->w;
    const struct kb_frame *f = t->f;
    double ptx = kb_json_number(f->head, "ptx_bytes", 0), cubin = kb_json_number(f->head, "cubin_bytes", 0);
    size_t bytes;
    if (!(ptx >= 0 && cubin >= 0) || ptx + cubin > (double)f->blob_size)
        return kb_fail(e, NULL, NULL, "the blob is shorter than its parts");
    t->traced = (struct run_version){
        .key = v->key, .variant = v->variant, .compiled = cJSON_Duplicate(kb_json_get(f->head, "kernels"), true)};
    kb_image_set(&t->traced.image, f->blob, (size_t)ptx, f->blob + (size_t)ptx, (size_t)cubin);
    if (kb_data_prepare(&w->data, t->c, e) || run_target_open(w, v, t->c, false, &t->plain, e))
        return -1;
    t->plain_open = true;
    if (run_target_open(w, &t->traced, t->c, true, &t->with, e))
        return -1;
    t->with_open = true;
    t->launches = t->with.plan.launch_count;
    if (t->launches > KB_MAX_LAUNCHES)
        return kb_fail(e, NULL, NULL, "%d launches are more than the %d that can be traced", t->launches,
                       KB_MAX_LAUNCHES);
    if (w->device->ops->variable(t->with.program.module, "kb_section_setup", &t->setup, &bytes, e))
        return -1;
    return bytes == sizeof(struct kb_section_setup)
               ? 0
               : kb_fail(e, "kb_section.cuh", "remove the old copy of it", "it is not the one of this worker");
}

// The most events that a warp of each launch had.
static void needed_capacity(const struct tracing *t, unsigned *capacity)
{
    for (int i = 0; i < t->launches; i++) {
        size_t warp, event, n = (size_t)t->plans[i].recorded * t->plans[i].warps;
        part_of(t, i, &warp, &event);
        capacity[i] = 1;
        for (size_t k = 0; k < n; k++) {
            unsigned events = t->host_warps[warp + k].events;
            capacity[i] = events > capacity[i] ? events : capacity[i];
        }
    }
}

// 1: cancelled.
static int work(struct tracing *t, const struct run_version *v, struct kb_error *e)
{
    unsigned capacity[KB_MAX_LAUNCHES];
    double counted = 0;
    bool on_cpu = t->w->data.on_cpu;
    if (open_both(t, v, e))
        return -1;
    for (int i = 0; i < t->launches; i++)
        capacity[i] = FIRST_CAPACITY;
    if (make_buffers(t, capacity, e) || record(t, NULL, e))
        return -1;
    needed_capacity(t, capacity);
    if (make_buffers(t, capacity, e))
        return -1;
    if (!on_cpu && time_both(t, e))
        return -1;
    if (interrupted(t))
        return 1;
    if (record(t, on_cpu ? &counted : NULL, e) || (!on_cpu && record(t, NULL, e)))
        return -1;
    return (on_cpu && count_both(t, counted, e)) || tell(t, e) ? -1 : 0;
}

static void close_all(struct tracing *t)
{
    if (t->plain_open)
        run_target_close(&t->plain);
    if (t->with_open)
        run_target_close(&t->with);
    free_buffers(t);
    kb_image_free(&t->traced.image);
    cJSON_Delete(t->traced.compiled);
    cJSON_Delete(t->slowdown);
}

void run_trace(struct run_worker *w, const struct kb_frame *f)
{
    struct run_version *v = w->has_data ? run_find(w, kb_json_text(f->head, "version", "")) : NULL;
    struct kb_error error = {0};
    if (!v) {
        run_refuse(w, f, NULL, w->has_data ? "this version is not loaded" : "no bench was prepared");
        return;
    }
    int64_t index = kb_json_int(f->head, "case", kb_bench_headline(w->data.bench));
    if (index < 0 || index >= w->data.bench->case_count) {
        run_refuse(w, f, NULL, "the bench has no case of this number");
        return;
    }
    struct tracing t = {.w = w, .f = f, .c = &w->data.cases[index], .slowdown = cJSON_CreateObject()};
    w->device->clock_counts = true; // spans in instructions, not in the cycles that a kernel is told
    int result = work(&t, v, &error);
    w->device->clock_counts = false;
    close_all(&t);
    run_end(w, f, NULL,
            result < 0   ? "fail"
            : result > 0 ? "cancelled"
                         : "pass",
            result < 0 ? kb_error_line(&error) : NULL);
}
