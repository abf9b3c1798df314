// `prepare` and `idle`: the bench's data on the device.
#include "base/clock.h"
#include "base/json.h"
#include "base/memory.h"
#include "profiles/timing.h"
#include "verify/neighbour.h"
#include "verify/stress.h"
#include "worker/run.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLOW_AFTER_MS = 2000, ALIVE_AFTER_MS = 5000 };

// The next piece of a blob; NULL beyond its end.
static const char *take(const struct kb_frame *f, size_t *at, double bytes)
{
    if (!(bytes >= 0) || bytes > (double)(f->blob_size - *at))
        return NULL;
    const char *piece = f->blob_size ? f->blob + *at : "";
    *at += (size_t)bytes;
    return piece;
}

static int take_image(const struct kb_frame *f, const cJSON *item, size_t *at, struct kb_image *image,
                      struct kb_error *e)
{
    double ptx = kb_json_number(item, "ptx_bytes", 0), cubin = kb_json_number(item, "cubin_bytes", 0);
    const char *first = take(f, at, ptx), *second = first ? take(f, at, cubin) : NULL;
    if (!second)
        return kb_fail(e, NULL, NULL, "the blob is shorter than its parts");
    kb_image_set(image, first, (size_t)ptx, second, (size_t)cubin);
    return 0;
}

static int take_files(struct run_worker *w, size_t *at, struct kb_data_request *r, struct kb_error *e)
{
    const cJSON *list = kb_json_get(w->prepared.head, "files"), *item;
    w->files = kb_alloc((size_t)cJSON_GetArraySize(list) * sizeof *w->files);
    cJSON_ArrayForEach (item, list) {
        struct kb_data_file *file = &w->files[r->file_count++];
        double bytes = kb_json_number(item, "bytes", -1);
        *file = (struct kb_data_file){kb_json_text(item, "name", ""), take(&w->prepared, at, bytes), (size_t)bytes};
        if (!file->bytes)
            return kb_fail(e, file->name, NULL, "the blob is shorter than its parts");
    }
    r->files = w->files;
    return 0;
}

static void forget_all(struct run_worker *w)
{
    while (w->version_count)
        run_drop(w, &w->versions[0]);
    if (w->has_data)
        kb_data_close(&w->data);
    w->has_data = false;
    kb_frame_free(&w->prepared);
    kb_image_free(&w->builtin);
    free(w->files);
    w->files = NULL;
}

// While a command of the bench runs: a sign of life now and then, and whether something else is to be done.
static bool command_stops(void *context)
{
    struct run_worker *w = context;
    if (kb_now_us() - w->alive_us > ALIVE_AFTER_MS * 1000) {
        kb_worker_send(kb_frame_head("alive", kb_frame_job(w->frame)), NULL, 0);
        w->alive_us = kb_now_us();
    }
    return w->idle ? kb_worker_pending() : run_cancelled(w->frame);
}

static void command_says(void *context, const char *text, size_t size)
{
    const struct run_worker *w = context;
    kb_worker_log(kb_frame_job(w->frame), "run", text, size);
}

struct kb_command run_command_hooks(struct run_worker *w, const char *dir)
{
    return (struct kb_command){dir, command_stops, command_says, w, false};
}

// What would be run, for somebody to look at.
void run_ask_permission(const struct run_worker *w, const char *dir, char *const *words, const struct kb_permission *p)
{
    cJSON *head = kb_frame_head("permission", kb_frame_job(w->frame));
    kb_permission_describe(p, dir, words, head);
    kb_worker_send(head, NULL, 0);
}

// A reference that is a command runs here if it was allowed; else it is asked for.
static int take_command(struct run_worker *w, struct kb_data_request *r, struct kb_error *e)
{
    const char *dir = kb_json_text(w->prepared.head, "dir", NULL);
    struct kb_permission p;
    if (r->bench->reference.kind != KB_REFERENCE_COMMAND || !dir)
        return 0;
    if (kb_permission_read(dir, r->bench->reference.command, &p, e))
        return -1;
    if (p.given)
        r->command = run_command_hooks(w, dir);
    else
        run_ask_permission(w, dir, r->bench->reference.command, &p);
    kb_permission_free(&p);
    return 0;
}

// So that what never ends, or ends this process, has a name.
static void tell_reference(void *context, const struct kb_case_data *c, bool runs)
{
    const struct run_worker *w = context;
    cJSON *head = kb_frame_head("reference", kb_frame_job(w->frame));
    kb_json_set_number(head, "case", c->index);
    kb_json_set_text(head, "label", c->label);
    kb_json_set_text(head, "state", runs ? "running" : "ended");
    kb_worker_send(head, NULL, 0);
}

static int open_data(struct run_worker *w, struct kb_error *e)
{
    struct kb_frame *f = &w->prepared;
    struct kb_data_request r = {.seed = strtoull(kb_json_text(f->head, "seed", "0"), NULL, 0),
                                .sets = (int)kb_json_int(f->head, "sets", 1),
                                .builtin = &w->builtin};
    w->device->clock_seed = r.seed; // a kernel cannot know what the clocks of this run will show
    struct kb_image reference = {0};
    size_t at = 0;
    const cJSON *ref = kb_json_get(f->head, "reference");
    bool has_reference = cJSON_IsObject(ref);
    if ((has_reference && take_image(f, ref, &at, &reference, e)) ||
        take_image(f, kb_json_get(f->head, "builtin"), &at, &w->builtin, e) || take_files(w, &at, &r, e) ||
        kb_bench_from_json(kb_json_get(f->head, "bench"), &r.bench, e)) {
        kb_image_free(&reference);
        return -1;
    }
    if (take_command(w, &r, e)) {
        kb_bench_free(r.bench);
        return -1;
    }
    if (has_reference) {
        r.reference = &reference;
        r.reference_compiled = kb_json_get(ref, "kernels");
    }
    int failed = kb_data_open(w->device, &r, &w->data, e);
    w->data.on_reference = tell_reference;
    w->data.on_reference_context = w;
    kb_image_free(&reference);
    w->has_data = !failed;
    return failed;
}

static cJSON *case_json(const struct kb_case_data *c, bool has_reference)
{
    cJSON *o = cJSON_CreateObject();
    kb_json_set_number(o, "case", c->index);
    kb_json_set_text(o, "label", c->label);
    kb_json_set_text(o, "status", c->usable ? "ready" : "unusable");
    kb_worker_set_clean(o, "reason", c->usable ? NULL : kb_error_line(&c->why), 600);
    kb_json_set_text(o, "weak", c->weak[0] ? c->weak : NULL);
    if (!c->weak[0])
        kb_json_set_text(o, "weak_reason",
                         !has_reference || !c->usable ? "no stand-in was tried: there is no reference to compare with"
                                                      : "no output that computes nothing passes");
    kb_json_set_number(o, "set_bytes", c->set_bytes);
    kb_json_measured(o, "reference_us", c->reference_us, c->reference_us > 0 ? NULL : "not run");
    return o;
}

static void send_prepared(const struct run_worker *w, const struct kb_frame *f)
{
    cJSON *head = kb_frame_head("prepared", kb_frame_job(f)), *cases = cJSON_CreateArray();
    for (int i = 0; i < w->data.bench->case_count; i++)
        cJSON_AddItemToArray(cases, case_json(&w->data.cases[i], w->data.has_reference));
    kb_json_set(head, "cases", cases);
    kb_json_set_number(head, "sets", w->data.want_sets);
    kb_json_set_number(head, "budget_bytes", w->data.budget_bytes);
    kb_json_set_number(head, "used_bytes", w->data.used_bytes);
    kb_json_set_text(head, "no_reference", w->data.has_reference ? NULL : w->data.no_reference);
    kb_worker_send(head, NULL, 0);
}

static void send_pool(const struct kb_frame *f, const struct kb_case_data *c, const struct kb_set *s)
{
    cJSON *head = kb_frame_head("pool", kb_frame_job(f));
    char number[24];
    snprintf(number, sizeof number, "%" PRIu64, s->number);
    kb_json_set_number(head, "case", c->index);
    kb_json_set_text(head, "set", number);
    kb_json_set_number(head, "sets", c->set_count);
    kb_worker_send(head, NULL, 0);
}

// Inputs that verify adds by itself, now rather than on the first save. A CPU makes them when they are asked for: there
// it is the reference that takes long.
static void prepare_stress(struct run_worker *w, const struct kb_frame *f, struct kb_error *e)
{
    struct kb_set *unused;
    const char *why;
    for (int i = 0; !w->data.on_cpu && !w->headline_only && i < w->data.bench->case_count; i++)
        for (int kind = 0; kind < KB_STRESSES && !run_cancelled(f) && !run_device_lost(w); kind++)
            kb_stress_set(&w->data, &w->data.cases[i], (enum kb_stress)kind, &unused, &why, e);
    for (int i = 0; !w->data.on_cpu && !w->headline_only && i < w->data.neighbour_count && !run_device_lost(w); i++) {
        struct kb_resized *n = &w->data.neighbours[i];
        if (kb_neighbour_prepare(&w->data, n, &why, e) || why)
            continue;
        for (int kind = KB_STRESS_MIXED; kind < KB_STRESSES && !run_cancelled(f) && !run_device_lost(w); kind++)
            kb_stress_set(&w->data, &n->data, (enum kb_stress)kind, &unused, &why, e);
    }
}

void run_prepare(struct run_worker *w, const struct kb_frame *f)
{
    struct kb_error error = {0};
    forget_all(w);
    // The frame itself is freed by the caller, so what the data refers to is copied.
    w->prepared.head = cJSON_Duplicate(f->head, true);
    w->prepared.blob = kb_alloc(f->blob_size + 1);
    w->prepared.blob_size = f->blob_size;
    if (f->blob_size)
        memcpy(w->prepared.blob, f->blob, f->blob_size);
    if (open_data(w, &error)) {
        run_end(w, f, NULL, "fail", kb_error_line(&error));
        return;
    }
    if (!w->data.on_cpu && !w->headline_only)
        kb_timing_prepare(w->device);
    if (kb_json_bool(f->head, "lazy", false)) { // each case when it is first asked for
        send_prepared(w, f);
        run_end(w, f, NULL, "pass", NULL);
        return;
    }
    for (int i = 0; i < w->data.bench->case_count; i++) {
        if (run_cancelled(f)) {
            run_end(w, f, NULL, "cancelled", NULL);
            return;
        }
        if (w->headline_only && i != kb_bench_headline(w->data.bench))
            continue;
        kb_data_prepare(&w->data, &w->data.cases[i], &error); // a case keeps its own failure
        if (run_device_lost(w)) {
            run_end(w, f, NULL, "fail", kb_error_line(&error));
            return;
        }
        if (w->data.cases[i].set_count) // a sign of life, too: references may take long
            send_pool(f, &w->data.cases[i], &w->data.cases[i].sets[0]);
    }
    prepare_stress(w, f, &error);
    if (run_device_lost(w)) {
        char *reason = kb_format("on inputs that verify adds (docs/verify.md): %s", kb_error_line(&error));
        run_end(w, f, NULL, "fail", reason);
        free(reason);
        return;
    }
    send_prepared(w, f);
    run_end(w, f, NULL, "pass", NULL);
}

// Fills one set; false if there is nothing (more) to fill, or the device was lost.
static bool refill_one(struct run_worker *w, const struct kb_frame *f, bool slow)
{
    struct kb_case_data *c;
    struct kb_set *s;
    struct kb_error error = {0};
    if (kb_data_refill(&w->data, slow, &c, &s, &error)) // else that case has become unusable
        return !run_device_lost(w);
    if (c && s) // without s there was no memory for one more
        send_pool(f, c, s);
    return c != NULL;
}

// A reference that takes long keeps the device from the next save: it waits for a pause. False if a request came.
static bool quiet_for(int ms)
{
    int64_t end = kb_now_us() + ms * 1000;
    while (!kb_worker_pending()) {
        int64_t left = (end - kb_now_us()) / 1000;
        struct pollfd p = {STDIN_FILENO, POLLIN, 0};
        if (left <= 0)
            return true;
        poll(&p, 1, (int)left);
    }
    return false;
}

void run_idle(struct run_worker *w, const struct kb_frame *f)
{
    bool more = w->has_data;
    while (more && !kb_worker_pending())
        more = refill_one(w, f, false);
    more = w->has_data && !run_device_lost(w) && kb_data_has_slow(&w->data) && quiet_for(SLOW_AFTER_MS);
    while (more && !kb_worker_pending())
        more = refill_one(w, f, true);
    run_end(w, f, NULL, run_device_lost(w) ? "fail" : "pass", run_device_lost(w) ? "the device was lost" : NULL);
}
