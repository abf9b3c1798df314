// The run worker: one device, one request at a time.
#include "worker/run.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/memory.h"
#include "worker/workers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

double run_ms(const struct run_worker *w)
{
    return (double)(kb_now_us() - w->started_us) / 1000;
}

bool run_device_lost(const struct run_worker *w)
{
    return w->device->fault.kind == KB_FAULT_POISONED || w->device->fault.kind == KB_FAULT_LOST;
}

void run_end(struct run_worker *w, const struct kb_frame *f, const char *rung, const char *status, const char *reason)
{
    bool lost = run_device_lost(w);
    if (reason && !*reason)
        reason = NULL;
    if (w->device && w->device->stopped) { // what it was for is not wanted any more
        status = "cancelled";
        reason = NULL;
    }
    kb_worker_end(kb_frame_job(f),
                  &(struct kb_worker_end){
                      .rung = strcmp(status, "cancelled") ? rung : NULL,
                      .status = status,
                      .reason = reason,
                      .fault_of = !strcmp(status, "fail") && w->data.reference_failed ? "reference" : NULL,
                      .not_tried = w->not_tried,
                      .ms = run_ms(w),
                      .poisoned = lost,
                  });
    cJSON_Delete(w->not_tried);
    w->not_tried = NULL;
    w->quit = w->quit || lost;
}

void run_refuse(struct run_worker *w, const struct kb_frame *f, const char *rung, const char *reason)
{
    run_end(w, f, rung, "fail", reason);
}

bool run_cancelled(const struct kb_frame *f)
{
    const struct kb_frame *next = kb_worker_peek();
    if (!next)
        return kb_worker_pending(); // nobody is there any more
    const char *type = kb_frame_type(next);
    return !strcmp(type, "quit") || (!strcmp(type, "cancel") && kb_json_int(next->head, "of", -1) == kb_frame_job(f));
}

bool run_was_refused(const struct run_worker *w)
{
    const struct kb_device_fault *fault = &w->device->fault;
    return fault->kind == KB_FAULT_REFUSED && !strcmp(fault->name, "CUDA_ERROR_NOT_SUPPORTED");
}

struct run_version *run_find(struct run_worker *w, const char *key)
{
    for (int i = 0; i < w->version_count; i++)
        if (!strcmp(w->versions[i].key, key)) {
            w->versions[i].last_used = ++w->uses;
            return &w->versions[i];
        }
    return NULL;
}

void run_drop(struct run_worker *w, struct run_version *v)
{
    kb_program_unload(&v->program);
    kb_image_free(&v->image);
    kb_variant_free(v->variant);
    cJSON_Delete(v->compiled);
    free(v->counted);
    free(v->doubt);
    free(v->key);
    *v = w->versions[--w->version_count];
    w->versions[w->version_count] = (struct run_version){0};
}

void run_forget(struct run_worker *w, const struct kb_frame *f)
{
    struct run_version *v = run_find(w, kb_json_text(f->head, "version", ""));
    if (v)
        run_drop(w, v);
    run_end(w, f, NULL, "pass", NULL);
}

void run_roofs(struct run_worker *w, const struct kb_frame *f)
{
    struct kb_error error = {0};
    if (!w->has_data || w->data.on_cpu) {
        run_end(w, f, NULL, "na", w->has_data ? "the CPU's speed says nothing about a GPU's" : "no bench was prepared");
        return;
    }
    double footprint = run_work(w, &w->data.cases[kb_bench_headline(w->data.bench)]).bytes;
    if (kb_roofs_measure(w->device, w->data.ops.module, isfinite(footprint) ? footprint : 0,
                         (int)kb_json_int(f->head, "budget_ms", 400), &w->roofs, &error)) {
        run_end(w, f, NULL, "fail", kb_error_line(&error));
        return;
    }
    cJSON *head = kb_frame_head("roofs", kb_frame_job(f));
    const struct kb_roofs *r = &w->roofs;
    kb_json_measured(head, "copy_bytes_per_s", r->copy_bytes_per_s, isnan(r->copy_bytes_per_s) ? "not measured" : NULL);
    kb_json_measured(head, "footprint_copy_bytes_per_s", r->footprint_copy_bytes_per_s,
                     isnan(r->footprint_copy_bytes_per_s) ? "not measured" : NULL);
    kb_json_measured(head, "footprint_bytes", r->footprint_bytes, isnan(r->footprint_bytes) ? "unknown" : NULL);
    kb_json_measured(head, "fp32_flops", r->fp32_flops, isnan(r->fp32_flops) ? "not measured" : NULL);
    kb_json_measured(head, "tensor_flops", r->tensor_flops, isnan(r->tensor_flops) ? "not measured" : NULL);
    kb_json_set_text(head, "tensor_type", r->tensor_type[0] ? r->tensor_type : NULL);
    kb_json_set_text(head, "source", r->source);
    kb_worker_send(head, NULL, 0);
    run_end(w, f, NULL, "pass", NULL);
}

static const struct {
    const char *type;
    void (*serve)(struct run_worker *, const struct kb_frame *);
} requests[] = {
    {"prepare", run_prepare}, {"check", run_check}, {"run", run_run},       {"verify", run_verify},
    {"time", run_time},       {"roofs", run_roofs}, {"forget", run_forget}, {"export", run_export},
    {"idle", run_idle},       {"trace", run_trace}, {"races", run_races},   {"report", run_report},
};

static void serve(struct run_worker *w, const struct kb_frame *f)
{
    const char *type = kb_frame_type(f);
    w->started_us = w->alive_us = kb_now_us();
    w->frame = f;
    w->idle = !strcmp(type, "idle");
    w->data.reference_failed = false;
    if (w->device)
        w->device->stopped = false;
    if (!strcmp(type, "quit"))
        w->quit = true;
    if (!strcmp(type, "quit") || !strcmp(type, "cancel")) // cancelled jobs have ended by now
        return;
    for (size_t i = 0; i < KB_COUNT(requests); i++)
        if (!strcmp(requests[i].type, type)) {
            requests[i].serve(w, f);
            return;
        }
    char *reason = kb_format("the run worker knows no request '%.40s'", type);
    run_refuse(w, f, NULL, reason);
    free(reason);
}

static const char default_like[] = "h200";

static void unknown_roofs(struct kb_roofs *r)
{
    *r = (struct kb_roofs){.copy_bytes_per_s = NAN,
                           .footprint_bytes = NAN,
                           .footprint_copy_bytes_per_s = NAN,
                           .fp32_flops = NAN,
                           .tensor_flops = NAN};
}

// Asked while a kernel runs on the CPU device.
static bool launch_stops(void *context)
{
    const struct run_worker *w = context;
    return w->frame && (w->idle ? kb_worker_pending() : run_cancelled(w->frame));
}

static int open_device(struct run_worker *w, const char *kind, const char *like, const char *check, struct kb_error *e)
{
    struct kb_device_info like_info;
    struct kb_peaks like_peaks;
    struct kb_device_request request = {.kind = kind, .like = like, .check = check, .seed = 1};
    unknown_roofs(&w->roofs);
    if (kb_known_device(like ? like : default_like, &like_info, &like_peaks, e))
        return -1;
    request.like = like ? like : default_like; // means something to the CPU device only
    request.like_info = &like_info;
    if (kb_device_open(&request, &w->device, e))
        return -1;
    w->device->stops = launch_stops;
    w->device->stops_context = w;
    snprintf(w->like, sizeof w->like, "%s", request.like);
    if (w->device->info.kind == KB_DEVICE_CPU)
        w->peaks = like_peaks;
    else if (kb_peaks_for(&w->device->info, &w->peaks, NULL))
        w->peaks = (struct kb_peaks){NAN, NAN, NAN, NAN, NAN, NAN, NAN, "unknown"};
    return 0;
}

static void say_hello(const struct run_worker *w, const struct kb_error *failure)
{
    cJSON *head = kb_frame_head("hello", 0), *libs = cJSON_CreateArray();
    kb_json_set_text(head, "role", "run");
    kb_json_set_number(head, "pid", getpid());
    kb_json_set_text(head, "tool", KB_VERSION);
    if (w->device && w->device->info.driver_library[0]) {
        cJSON *lib = cJSON_CreateObject();
        kb_json_set_text(lib, "name", "cuda");
        kb_json_set_text(lib, "path", w->device->info.driver_library);
        kb_json_set_text(lib, "version", w->device->info.driver);
        kb_json_set_text(lib, "missing", NULL);
        cJSON_AddItemToArray(libs, lib);
    }
    kb_json_set(head, "libs", libs);
    kb_json_set(head, "device", w->device ? run_device_json(w) : cJSON_CreateNull());
    kb_json_set_text(head, "failed", NULL);
    if (failure) {
        cJSON *failed = cJSON_CreateObject();
        kb_json_set_text(failed, "code", kb_device_failure());
        char *what = kb_format("%s%s%s", failure->on, failure->on[0] ? ": " : "", failure->what);
        kb_worker_set_clean(failed, "what", what, 2000);
        kb_worker_set_clean(failed, "remedy", failure->remedy, 1000);
        kb_json_set(head, "failed", failed);
        free(what);
    }
    kb_worker_send(head, NULL, 0);
}

static int work(struct run_worker *w)
{
    struct kb_error error = {0};
    struct kb_frame f;
    int got = 0;
    while (!w->quit && (got = kb_worker_read(&f, &error)) == 1) {
        serve(w, &f);
        kb_frame_free(&f);
    }
    return got < 0 ? KB_EXIT_USAGE : KB_EXIT_OK;
}

static void close_all(struct run_worker *w)
{
    while (w->version_count)
        run_drop(w, &w->versions[0]);
    if (w->has_data)
        kb_data_close(&w->data);
    kb_frame_free(&w->prepared);
    kb_image_free(&w->builtin);
    free(w->files);
    w->device->ops->close(w->device);
}

int kb_run_worker(int argc, char **argv)
{
    struct run_worker w = {0};
    struct kb_error error = {0};
    const char *device = NULL, *like = NULL, *check = NULL;
    bool stdio = false;
    for (int i = 2; i < argc; i++) {
        const char **value = !strcmp(argv[i], "--device")  ? &device
                             : !strcmp(argv[i], "--like")  ? &like
                             : !strcmp(argv[i], "--check") ? &check
                                                           : NULL;
        stdio = stdio || !strcmp(argv[i], "--stdio");
        if (!strcmp(argv[i], "--nice")) // everything else on this machine goes first
            setpriority(PRIO_PROCESS, 0, 19);
        if (value && i + 1 < argc)
            *value = argv[++i];
    }
    if (kb_worker_open(stdio, "run", &error)) {
        fprintf(stderr, "kbench-worker: %s\n", kb_error_line(&error));
        return KB_EXIT_USAGE;
    }
    if (open_device(&w, device, like, check, &error)) {
        say_hello(&w, &error);
        kb_worker_close();
        return KB_EXIT_NO_WORKER;
    }
    say_hello(&w, NULL);
    int status = work(&w);
    close_all(&w);
    kb_worker_close();
    return status;
}
