// What the run worker is asked, and when: one request at a time, the GPU's lock held while one is in flight.
#include "base/file.h"
#include "loop/parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_LOADED = 6, // versions in the worker at once; it drops the oldest itself beyond 8
    MOST_DEATHS = 3, // of workers at filling the pool of inputs
    ROOFS_MS = 400,  // budgets
    SETTLED_MS = 150,
    ONCE_MS = 400,
    GUESSED_MS = 6000, // a run on the CPU device
};

// With guessed sizes a launch that takes long is no slow kernel but a bad guess: nobody waits for it.
static int patience_ms(const struct kb_session *s, enum kb_rung rung)
{
    int usual = kb_rungs[rung].deadline_ms;
    return s->inferred && kb_on_cpu(s) && rung == KB_RUNG_RUN && usual > GUESSED_MS ? GUESSED_MS : usual;
}

static cJSON *request(struct kb_session *s, enum kb_request kind, const char *type, struct kb_build *b, int deadline_ms)
{
    struct kb_run_worker *r = &s->run;
    if (r->request == KB_REQUEST_IDLE)
        r->idle_job = r->lane.job; // its end comes before anything of the new request
    r->request = kind;
    return kb_lane_request(s, &r->lane, type, b, deadline_ms);
}

static void add_blobs(cJSON *head, struct kb_text *blob, const struct kb_blobs *b)
{
    kb_json_set_number(head, "ptx_bytes", (double)b->ptx_size);
    kb_json_set_number(head, "cubin_bytes", (double)b->cubin_size);
    kb_text_bytes(blob, b->ptx, b->ptx_size);
    kb_text_bytes(blob, b->cubin, b->cubin_size);
}

static cJSON *program_of(struct kb_session *s, enum kb_program_kind kind, struct kb_text *blob)
{
    const struct kb_program *p = &s->programs[kind];
    cJSON *item = cJSON_CreateObject();
    if (kind == KB_PROGRAM_REFERENCE) {
        kb_json_set(item, "variant", kb_variant_to_json(&s->bench->reference.program));
        kb_json_set(item, "kernels", cJSON_Duplicate(kb_json_get(p->compiled, "kernels"), true));
    }
    add_blobs(item, blob, &p->blobs);
    return item;
}

static cJSON *data_files(struct kb_session *s, struct kb_text *blob)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < s->watched_count; i++) {
        const struct kb_session_file *w = s->watched[i];
        if (!w->data || !w->latest)
            continue;
        const struct kb_snapshot_file *file = &w->latest->snapshot.files[0];
        cJSON *item = cJSON_CreateObject();
        char *name = kb_path_relative(s->bench_dir, w->path);
        kb_json_set_text(item, "name", name);
        kb_json_set_number(item, "bytes", (double)file->size);
        kb_text_bytes(blob, file->data, file->size);
        cJSON_AddItemToArray(list, item);
        free(name);
    }
    return list;
}

cJSON *kb_prepare_fields(struct kb_session *s, cJSON *head, int sets, bool reference, struct kb_text *blob)
{
    char seed[32];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)s->seed);
    kb_json_set(head, "bench", kb_bench_document(s));
    kb_json_set_text(head, "seed", seed);
    kb_json_set_number(head, "sets", sets);
    kb_json_set(head, "reference",
                reference && s->programs[KB_PROGRAM_REFERENCE].ready ? program_of(s, KB_PROGRAM_REFERENCE, blob)
                                                                     : cJSON_CreateNull());
    kb_json_set(head, "builtin", program_of(s, KB_PROGRAM_BUILTIN, blob));
    kb_json_set(head, "files", data_files(s, blob));
    if (reference && s->bench->reference.kind == KB_REFERENCE_COMMAND)
        kb_json_set_text(head, "dir", s->bench_dir); // where the command runs: the worker is on this machine
    return head;
}

static void send_prepare(struct kb_session *s)
{
    if (s->run.preparing != s->bench_generation) // nobody died at this yet
        s->run.deaths[KB_REQUEST_PREPARE] = s->run.deaths[KB_REQUEST_IDLE] = 0;
    cJSON *head = request(s, KB_REQUEST_PREPARE, "prepare", NULL, kb_rungs[KB_RUNG_VERIFY].deadline_ms);
    struct kb_text blob = {0};
    kb_prepare_fields(s, head, s->options.once ? 1 : 3, true, &blob);
    kb_peer_send(s->run.lane.peer, head, blob.data, blob.size);
    kb_text_free(&blob);
    s->run.preparing = s->bench_generation;
    kb_permission_asked(s, NULL);
}

void kb_check_fields(cJSON *head, struct kb_build *b, struct kb_text *blob)
{
    kb_json_set(head, "variant", kb_variant_to_json(b->resolved));
    kb_json_set(head, "kernels", cJSON_Duplicate(kb_json_get(b->compiled, "kernels"), true));
    add_blobs(head, blob, &b->blobs);
}

static void send_check(struct kb_session *s, struct kb_build *b, enum kb_request kind)
{
    cJSON *head = request(s, kind, "check", b, kb_rungs[KB_RUNG_CHECK].deadline_ms);
    struct kb_text blob = {0};
    kb_check_fields(head, b, &blob);
    kb_peer_send(s->run.lane.peer, head, blob.data, blob.size);
    kb_text_free(&blob);
}

static void send_time(struct kb_session *s, struct kb_build *b, bool settled)
{
    struct kb_build *against[2];
    int count = settled ? kb_against(s, b, against) : 0;
    b->settled_timing = b->settled_timing && !settled; // a pin while it runs makes it due again
    cJSON *head =
        request(s, settled ? KB_REQUEST_SETTLE : KB_REQUEST_TIME, "time", b, kb_rungs[KB_RUNG_TIME].deadline_ms);
    cJSON *list = cJSON_AddArrayToObject(head, "against");
    for (int i = 0; i < count; i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(against[i]->key));
    kb_json_set(head, "cases", cJSON_CreateArray());
    kb_json_set_number(head, "budget_ms", !settled ? KB_FIRST_BUDGET_MS : s->options.once ? ONCE_MS : SETTLED_MS);
    kb_json_set_text(head, "stage", settled ? "settled" : "first");
    kb_peer_send(s->run.lane.peer, head, NULL, 0);
}

static bool loaded(const struct kb_session *s, const struct kb_build *b)
{
    return b->worker_generation == s->run.generation && s->run.prepared == s->bench_generation &&
           b->prepared_generation == s->run.prepared;
}

static bool still_used(const struct kb_session *s, const struct kb_build *b)
{
    bool used = b == s->pin;
    for (int i = 0; i < s->slot_count; i++)
        used = used || b == s->slots[i].current || b == s->slots[i].good || b == s->slots[i].previous;
    return used;
}

static void forget(struct kb_session *s, int index)
{
    struct kb_run_worker *r = &s->run;
    struct kb_build *b = r->loaded[index];
    memmove(&r->loaded[index], &r->loaded[index + 1], sizeof *r->loaded * (size_t)(--r->loaded_count - index));
    b->worker_generation = 0;
    kb_peer_send(r->lane.peer, request(s, KB_REQUEST_FORGET, "forget", b, kb_rungs[KB_RUNG_CHECK].deadline_ms), NULL,
                 0);
    kb_build_unref(b);
}

// Modules of versions that nobody compares with any more are given back. Returns true if a request was sent.
static bool forget_unused(struct kb_session *s)
{
    for (int i = 0; i < s->run.loaded_count; i++)
        if (!still_used(s, s->run.loaded[i])) {
            forget(s, i);
            return true;
        }
    return false;
}

// A worker holds a few versions: before one more comes in, the one that was used longest ago goes.
static bool make_room(struct kb_session *s, const struct kb_build *b, struct kb_build *const *against, int count)
{
    struct kb_run_worker *r = &s->run;
    for (int i = 0; r->loaded_count >= MOST_LOADED && i < r->loaded_count; i++) {
        bool needed = r->loaded[i] == b;
        for (int k = 0; k < count; k++)
            needed = needed || r->loaded[i] == against[k];
        if (needed)
            continue;
        forget(s, i);
        return true;
    }
    return false;
}

static void send_trial(struct kb_session *s, struct kb_build *b)
{
    bool verify = b->next == KB_RUNG_VERIFY;
    cJSON *head =
        request(s, verify ? KB_REQUEST_VERIFY : KB_REQUEST_RUN, kb_rungs[b->next].name, b, patience_ms(s, b->next));
    if (verify)
        kb_seeds_fields(s, b, head);
    kb_peer_send(s->run.lane.peer, head, NULL, 0);
}

// The rung's request for b, or what must come before it.
static void serve(struct kb_session *s, struct kb_build *b)
{
    struct kb_build *against[2];
    int count = b->stage == KB_STAGE_DONE ? kb_against(s, b, against) : 0;
    if (make_room(s, b, against, count))
        return;
    for (int i = 0; i < count; i++)
        if (!loaded(s, against[i])) {
            send_check(s, against[i], KB_REQUEST_LOAD);
            return;
        }
    if (b->stage == KB_STAGE_LADDER && b->next == KB_RUNG_CHECK) {
        kb_build_rung(s, b, KB_RUNG_CHECK, KB_STATUS_RUNNING, NAN, NULL);
        send_check(s, b, KB_REQUEST_CHECK);
    } else if (!loaded(s, b)) {
        send_check(s, b, KB_REQUEST_LOAD);
    } else if (b->stage == KB_STAGE_DONE) {
        send_time(s, b, true);
    } else {
        kb_build_rung(s, b, b->next, KB_STATUS_RUNNING, NAN, NULL);
        if (b->next == KB_RUNG_TIME)
            send_time(s, b, false);
        else
            send_trial(s, b);
    }
    b->rung_us = kb_now_us();
}

// Somebody looks at the screen for it: only a save of the focused variant goes before it.
static bool may_trace(const struct kb_session *s, const struct kb_build *next)
{
    return !next || next->stage != KB_STAGE_LADDER || next->variant != kb_focus_index(s);
}

// What a trace asks of the worker. True if there is one.
static bool serve_trace(struct kb_session *s)
{
    struct kb_build *b = kb_tracing_due(s);
    if (!b)
        return false;
    if (!kb_take_gpu(s) || make_room(s, b, NULL, 0))
        return true;
    if (!loaded(s, b)) {
        send_check(s, b, KB_REQUEST_LOAD);
        return true;
    }
    struct kb_text blob = {0};
    cJSON *head = request(s, KB_REQUEST_TRACE, "trace", b, kb_rungs[KB_RUNG_VERIFY].deadline_ms);
    kb_tracing_run_fields(s, head, &blob);
    kb_peer_send(s->run.lane.peer, head, blob.data, blob.size);
    kb_text_free(&blob);
    return true;
}

// Everything that prepare needs is there, or is known not to come.
static bool can_prepare(const struct kb_session *s)
{
    const struct kb_program *reference = &s->programs[KB_PROGRAM_REFERENCE],
                            *builtin = &s->programs[KB_PROGRAM_BUILTIN];
    if (s->inferred && !s->compiled_once)
        return false; // a compile tells which arguments are inputs
    if (!builtin->ready || (reference->wanted && !reference->ready && !reference->failed))
        return false;
    for (int i = 0; i < s->watched_count; i++)
        if (s->watched[i]->data && !s->watched[i]->latest && !s->watched[i]->missing)
            return false;
    return true;
}

bool kb_take_gpu(struct kb_session *s)
{
    if (kb_gpu_lock_try(&s->lock)) {
        s->lock_waiting = false;
        return true;
    }
    if (!s->lock_waiting)
        kb_status_line(s, "info", NULL, "waiting: another kbench-tui (pid %d) uses this GPU now",
                       kb_gpu_lock_holder(&s->lock));
    s->lock_waiting = true;
    return false;
}

static void send_report(struct kb_session *s)
{
    cJSON *head = request(s, KB_REQUEST_REPORT, "report", NULL, kb_rungs[KB_RUNG_VERIFY].deadline_ms);
    kb_peer_send(s->run.lane.peer, kb_report_fields(s, head), NULL, 0);
}

static void send_quiet_work(struct kb_session *s)
{
    struct kb_run_worker *r = &s->run;
    if (forget_unused(s))
        return;
    bool gpu = kb_on_gpu(s);
    if (gpu && !r->roofs_known && kb_take_gpu(s)) {
        cJSON *head = request(s, KB_REQUEST_ROOFS, "roofs", NULL, kb_rungs[KB_RUNG_TIME].deadline_ms);
        kb_json_set_number(head, "budget_ms", ROOFS_MS);
        kb_peer_send(r->lane.peer, head, NULL, 0);
    } else if (kb_report_due(s)) {
        if (kb_take_gpu(s))
            send_report(s);
    } else if (kb_profile_wants(s)) {
        return; // sections first: they are looked at, the pool is not
    } else if (!r->idle_done && r->deaths[KB_REQUEST_IDLE] < MOST_DEATHS && !s->options.once &&
               (!gpu || kb_take_gpu(s))) {
        kb_peer_send(r->lane.peer, request(s, KB_REQUEST_IDLE, "idle", NULL, kb_rungs[KB_RUNG_VERIFY].deadline_ms),
                     NULL, 0);
    } else if (!r->spare && s->spare_safe && !s->options.once && r->request == KB_REQUEST_NONE) {
        r->spare = kb_run_spawn(s, NULL);
        if (r->spare)
            kb_peer_deadline(r->spare, 0);
    }
}

bool kb_may_profile(const struct kb_session *s)
{
    return s->spare_safe;
}

static void send_export(struct kb_session *s)
{
    cJSON *head = request(s, KB_REQUEST_EXPORT, "export", NULL, kb_rungs[KB_RUNG_VERIFY].deadline_ms);
    kb_peer_send(s->run.lane.peer, kb_export_fields(s, head), NULL, 0);
}

// A verdict that needs no device any more, e.g. since the worker's own device code is missing.
static bool decided_without_device(struct kb_session *s, struct kb_build *b)
{
    const struct kb_program *builtin = &s->programs[KB_PROGRAM_BUILTIN],
                            *reference = &s->programs[KB_PROGRAM_REFERENCE];
    bool known = s->run.prepared == s->bench_generation || s->run.refused == s->bench_generation;
    const char *why = builtin->failed ? builtin->reason : known ? s->run.prepare_error : NULL;
    const char *fault = builtin->failed ? "worker" : s->run.prepare_fault;
    enum kb_rung rung = b->next;
    char *reason = NULL;
    if (b->stage != KB_STAGE_LADDER)
        return false;
    if (why && !strcmp(fault, "reference"))
        reason = kb_strdup(why);
    else if (why)
        reason = kb_format("preparing the inputs failed: %s", why);
    else if (rung == KB_RUNG_VERIFY && reference->failed)
        reason = kb_format("the reference does not compile: %s", reference->reason);
    if (!reason)
        return false;
    b->fault_of = why ? fault : "reference";
    kb_build_rung(s, b, rung, KB_STATUS_FAIL, NAN, reason);
    kb_build_rung_done(s, b, rung);
    free(reason);
    return true;
}

void kb_run_assign(struct kb_session *s)
{
    struct kb_run_worker *r = &s->run;
    if (r->request == KB_REQUEST_TRACE && !may_trace(s, kb_build_at(s, kb_order(s).run)))
        kb_run_drop(s, r->lane.build);
    if (r->request == KB_REQUEST_REPORT && (kb_export_due(s) || kb_tracing_due(s) ||
                                            r->prepared != s->bench_generation || kb_build_at(s, kb_order(s).run)))
        kb_report_yield(s);
    if (!r->lane.ready || kb_peer_ending(r->lane.peer) ||
        (r->request != KB_REQUEST_NONE && r->request != KB_REQUEST_IDLE) || r->idle_job || kb_run_worker_dying(s))
        return;
    struct kb_build *b = kb_build_at(s, kb_order(s).run);
    bool beside_hold = s->profile.request == KB_PROFILE_HOLD && b && b->stage == KB_STAGE_LADDER &&
                       b->next != KB_RUNG_TIME && r->prepared == s->bench_generation;
    if (s->profile.request != KB_PROFILE_NONE && !beside_hold) { // it has the GPU, and gives it back at once
        if (b || kb_export_due(s) || r->prepared != s->bench_generation)
            kb_profile_yield(s);
        return;
    }
    if (b && decided_without_device(s, b)) {
        s->again = true;
        return;
    }
    bool prepare = r->prepared != s->bench_generation;
    if (prepare && (r->refused == s->bench_generation || !can_prepare(s)))
        return;
    if (prepare && kb_take_gpu(s))
        send_prepare(s);
    else if (prepare)
        return;
    else if (b && !r->roofs_known && b->next == KB_RUNG_TIME)
        send_quiet_work(s); // every share is one of the same roofs; some 40 ms once for a GPU and driver, then cached
    if (r->request != KB_REQUEST_NONE && r->request != KB_REQUEST_IDLE)
        return;
    bool export = !prepare && kb_export_due(s); // somebody waits for it, and it is quick
    bool other = export || (may_trace(s, b) && serve_trace(s));
    if (export && kb_take_gpu(s))
        send_export(s);
    else if (!other && b && kb_take_gpu(s))
        serve(s, b);
    else if (!other && !b && r->request == KB_REQUEST_NONE)
        send_quiet_work(s);
    if (r->request == KB_REQUEST_NONE)
        kb_gpu_lock_release(&s->lock);
}
