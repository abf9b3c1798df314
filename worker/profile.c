// The profile worker: PC sampling and hardware counters in a process and context of its own, so that they never disturb
// what is timed. It holds the sampling hardware from the first `sections` until `release`, `counters` or its end.
#include "worker/profile.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/memory.h"
#include "profiles/cupti.h"
#include "profiles/cupti_activity.h"
#include "worker/workers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void profile_end(struct profile_worker *p, const struct kb_frame *f, const char *rung, const char *status,
                 const char *reason, const char *remedy)
{
    struct run_worker *w = &p->run;
    bool lost = run_device_lost(w);
    if (reason && !*reason)
        reason = NULL;
    if (rung && strcmp(status, "cancelled"))
        kb_worker_rung(kb_frame_job(f), rung, status, run_ms(w), reason);
    cJSON *head = kb_frame_head("done", kb_frame_job(f));
    kb_json_set_text(head, "status", status);
    kb_worker_set_clean(head, "reason", reason, 2000);
    kb_worker_set_clean(head, "remedy", remedy && *remedy ? remedy : NULL, 1000);
    kb_json_set_bool(head, "poisoned", lost);
    kb_json_set_bool(head, "held", kb_pcs_held());
    kb_worker_send(head, NULL, 0);
    w->quit = w->quit || lost;
}

static void say(struct profile_worker *p, const struct kb_frame *f, const char *rung, const char *status,
                const struct kb_error *e)
{
    char *reason = kb_format("%s%s%s", e->on, e->on[0] ? ": " : "", e->what);
    profile_end(p, f, rung, status, reason, e->remedy);
    free(reason);
}

static bool is_counters(const char *rung) // NULL: the request `hold`, of sampling
{
    return rung && !strcmp(rung, "counters");
}

bool profile_is_refused(struct profile_worker *p, const struct kb_frame *f, const char *rung)
{
    int of = is_counters(rung);
    if (kb_json_bool(f->head, "retry", false))
        p->refused[0] = p->refused[1] = false;
    if (!p->refused[of] && kb_profiling_allowed(kb_profiling_admin_only(NULL), kb_has_sys_admin(), &p->refusal[of]))
        p->refused[of] = true;
    if (p->refused[of])
        say(p, f, rung, "na", &p->refusal[of]);
    kb_cupti_take_refusal();
    return p->refused[of];
}

void profile_refuse(struct profile_worker *p, const struct kb_frame *f, const char *rung, const struct kb_error *e)
{
    int code = kb_cupti_take_refusal(), of = is_counters(rung);
    for (int i = 0; i < 2; i++)
        if (kb_cupti_lasting(code) && (i == of || kb_cupti_shared(code))) {
            p->refused[i] = true;
            p->refusal[i] = *e;
        }
    say(p, f, rung, run_device_lost(&p->run) ? "fail" : "na", e);
}

static void serve_hold(struct profile_worker *p, const struct kb_frame *f)
{
    struct kb_error e = {0};
    if (profile_is_refused(p, f, NULL))
        return;
    if (kb_pcs_warm(p->run.device, &e))
        profile_refuse(p, f, NULL, &e);
    else
        profile_end(p, f, NULL, "pass", NULL, NULL);
}

static void serve_release(struct profile_worker *p, const struct kb_frame *f)
{
    kb_pcs_release();
    profile_end(p, f, NULL, "pass", NULL, NULL);
}

static void serve_prepare(struct profile_worker *p, const struct kb_frame *f)
{
    run_prepare(&p->run, f);
}

static void serve_check(struct profile_worker *p, const struct kb_frame *f)
{
    run_check(&p->run, f);
}

static void serve_forget(struct profile_worker *p, const struct kb_frame *f)
{
    run_forget(&p->run, f);
}

static const struct {
    const char *type;
    void (*serve)(struct profile_worker *, const struct kb_frame *);
} requests[] = {
    {"prepare", serve_prepare},     {"check", serve_check}, {"sections", profile_sections},
    {"counters", profile_counters}, {"hold", serve_hold},   {"release", serve_release},
    {"forget", serve_forget},
};

static void serve(struct profile_worker *p, const struct kb_frame *f)
{
    const char *type = kb_frame_type(f);
    p->run.started_us = kb_now_us();
    if (!strcmp(type, "quit"))
        p->run.quit = true;
    if (!strcmp(type, "quit") || !strcmp(type, "cancel")) // cancelled jobs have ended by now
        return;
    for (size_t i = 0; i < KB_COUNT(requests); i++)
        if (!strcmp(requests[i].type, type)) {
            requests[i].serve(p, f);
            return;
        }
    char *reason = kb_format("the profile worker knows no request '%.40s'", type);
    profile_end(p, f, NULL, "fail", reason, NULL);
    free(reason);
}

static void add_lib(cJSON *libs, const char *name, const char *path, const char *version, const char *missing)
{
    cJSON *lib = cJSON_CreateObject();
    kb_json_set_text(lib, "name", name);
    kb_json_set_text(lib, "path", path);
    kb_json_set_text(lib, "version", version);
    kb_worker_set_clean(lib, "missing", missing, 1000);
    cJSON_AddItemToArray(libs, lib);
}

static cJSON *libs_json(const struct run_worker *w)
{
    cJSON *libs = cJSON_CreateArray();
    struct kb_error e = {0};
    char path[256] = "";
    if (w->device && w->device->info.driver_library[0])
        add_lib(libs, "cuda", w->device->info.driver_library, w->device->info.driver, NULL);
    bool there = kb_toolkit_open("cupti", path, sizeof path, &e) != NULL;
    add_lib(libs, "cupti", there ? path : NULL, NULL, there ? NULL : kb_error_line(&e));
    return libs;
}

static void say_hello(const struct run_worker *w, const struct kb_error *failure)
{
    cJSON *head = kb_frame_head("hello", 0);
    kb_json_set_text(head, "role", "profile");
    kb_json_set_number(head, "pid", getpid());
    kb_json_set_text(head, "tool", KB_VERSION);
    kb_json_set(head, "libs", libs_json(w));
    kb_json_set(head, "device", w->device ? run_device_json(w) : cJSON_CreateNull());
    int admin = kb_profiling_admin_only(NULL);
    kb_json_measured(head, "profiling_admin_only", admin, admin < 0 ? "the driver's parameters cannot be read" : NULL);
    kb_json_set_text(head, "failed", NULL);
    if (failure) {
        cJSON *failed = cJSON_CreateObject();
        char *what = kb_format("%s%s%s", failure->on, failure->on[0] ? ": " : "", failure->what);
        kb_json_set_text(failed, "code", kb_device_failure());
        kb_worker_set_clean(failed, "what", what, 2000);
        kb_worker_set_clean(failed, "remedy", failure->remedy, 1000);
        kb_json_set(head, "failed", failed);
        free(what);
    }
    kb_worker_send(head, NULL, 0);
}

static int open_device(struct run_worker *w, const char *kind, struct kb_error *e)
{
    struct kb_device_request request = {.kind = kind ? kind : "cuda"};
    bool absent = false;
    w->headline_only = true;
    if (!strncmp(request.kind, "cpu", 3)) {
        kb_device_set_failure("no_device");
        return kb_fail(e, NULL, "--device cuda", "the CPU device is not profiled: it counts while it runs");
    }
    if (kb_device_open_cuda(&request, &w->device, &absent, e))
        return -1;
    if (kb_peaks_for(&w->device->info, &w->peaks, NULL))
        w->peaks = (struct kb_peaks){NAN, NAN, NAN, NAN, NAN, NAN, NAN, "unknown"};
    return 0;
}

static int work(struct profile_worker *p)
{
    struct kb_error error = {0};
    struct kb_frame f;
    int got = 0;
    while (!p->run.quit && (got = kb_worker_read(&f, &error)) == 1) {
        serve(p, &f);
        kb_frame_free(&f);
    }
    return got < 0 ? KB_EXIT_USAGE : KB_EXIT_OK;
}

int kb_run_profile_worker(const struct kb_worker_options *o)
{
    static struct profile_worker p;
    struct kb_error error = {0};
    if (kb_worker_open(o->stdio, "profile", &error)) {
        fprintf(stderr, "kbench-worker: %s\n", kb_error_line(&error));
        return KB_EXIT_USAGE;
    }
    int failed = open_device(&p.run, o->device, &error);
    say_hello(&p.run, failed ? &error : NULL);
    int status = failed ? KB_EXIT_NO_WORKER : work(&p);
    kb_worker_close();
    // Tearing CUPTI and the context down can hang; the kernel gives all of it back at once.
    _exit(status);
}
