#include "loop/session.h"
#include "base/file.h"
#include "loop/parts.h"
#include "loop/proof.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int kb_sooner(int a, int b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

// Events

cJSON *kb_event(const char *type)
{
    cJSON *event = cJSON_CreateObject();
    kb_json_set_text(event, "type", type);
    return event;
}

cJSON *kb_build_event(const struct kb_build *b, const char *type)
{
    cJSON *event = kb_event(type);
    kb_json_set_text(event, "variant", b->name);
    kb_json_set(event, "version", b->version ? cJSON_CreateNumber(b->version) : cJSON_CreateNull());
    return event;
}

const struct kb_model *kb_session_model(const struct kb_session *s)
{
    return &s->model;
}

static void emit(struct kb_session *s, cJSON *event)
{
    kb_json_set_number(event, "t_ms", floor((double)(kb_now_us() - s->start_us) / 1000.0));
    struct kb_event e;
    kb_event_read(event, &e);
    if (s->options.on_event)
        s->options.on_event(s->options.context, &e, event);
    kb_model_take(&s->model, &e);
    kb_event_free(&e);
    char *line = kb_json_line(event);
    kb_records_stream(s, line);
    free(line);
    s->again = true;
}

void kb_emit_transient(struct kb_session *s, cJSON *event)
{
    kb_json_set_number(event, "t_ms", floor((double)(kb_now_us() - s->start_us) / 1000.0));
    struct kb_event e;
    kb_event_read(event, &e);
    if (s->options.on_event)
        s->options.on_event(s->options.context, &e, event);
    kb_event_free(&e);
    cJSON_Delete(event);
    s->again = true;
}

void kb_emit(struct kb_session *s, cJSON *event)
{
    emit(s, event);
    cJSON_Delete(event);
}

void kb_emit_build(struct kb_session *s, struct kb_build *b, cJSON *event)
{
    emit(s, event);
    cJSON_AddItemToArray(b->results, event);
}

void kb_status_line(struct kb_session *s, const char *level, const char *remedy, const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    cJSON *event = kb_event("status");
    char *clean = kb_cleaned(text);
    kb_json_set_text(event, "level", level);
    kb_json_set_text(event, "text", clean);
    kb_json_set_text(event, "remedy", remedy && *remedy ? remedy : NULL);
    free(clean);
    kb_emit(s, event);
}

void kb_emit_worker(struct kb_session *s, enum kb_worker_role role, const char *state, const struct kb_peer *peer,
                    const char *reason)
{
    cJSON *event = kb_event("worker");
    kb_json_set_text(event, "role", kb_worker_role_name(role));
    kb_json_set_text(event, "state", state);
    kb_json_set(event, "pid", peer ? cJSON_CreateNumber(kb_peer_pid(peer)) : cJSON_CreateNull());
    kb_json_set_text(event, "reason", reason);
    kb_emit(s, event);
}

void kb_emit_libs(struct kb_session *s, enum kb_worker_role role, const cJSON *libs)
{
    cJSON *known = kb_record_write(&kb_record_libs, s->model.libs[role] ?: &kb_unknown_libs);
    if (cJSON_IsArray(libs) && (!s->model.libs[role] || !cJSON_Compare(kb_json_get(known, "libs"), libs, true))) {
        cJSON *event = kb_event("libs");
        kb_json_set_text(event, "role", kb_worker_role_name(role));
        kb_json_set(event, "libs", cJSON_Duplicate(libs, true));
        kb_emit(s, event);
    }
    cJSON_Delete(known);
}

void kb_emit_log(struct kb_session *s, const char *source, const char *variant, const char *text, int64_t dropped)
{
    cJSON *event = kb_event("log");
    kb_json_set_text(event, "source", source);
    kb_json_set_text(event, "variant", variant);
    kb_json_set_text(event, "text", text);
    kb_json_set_number(event, "dropped", (double)dropped);
    kb_emit(s, event);
}

// Workers that were replaced

void kb_retire(struct kb_session *s, struct kb_peer *peer, enum kb_worker_role role, const char *why, bool now)
{
    kb_peer_end(peer, why, now);
    KB_GROW(s->dying, s->dying_count, s->dying_capacity);
    s->dying[s->dying_count++] = (struct kb_dying){peer, role};
    s->again = true;
}

bool kb_run_worker_dying(const struct kb_session *s)
{
    for (int i = 0; i < s->dying_count; i++)
        if (s->dying[i].role == KB_WORKER_RUN)
            return true;
    return false;
}

// Returns true when this one is gone.
static bool step_dying(struct kb_session *s, struct kb_dying *d)
{
    struct kb_peer_event event;
    bool gone = false;
    kb_peer_step(d->peer);
    while (kb_peer_next(d->peer, &event)) {
        if (event.kind == KB_PEER_LINE)
            kb_emit_log(s, kb_worker_role_name(d->role), NULL, event.text, event.dropped);
        if (event.kind == KB_PEER_ENDED) {
            gone = true;
            kb_emit_worker(s, d->role, event.abandoned ? "abandoned" : "killed", d->peer, event.text);
            if (event.abandoned)
                kb_status_line(s, "error", "restart the machine's GPU users, or wait until the process is gone", "%s",
                               event.text);
        }
        kb_peer_event_free(&event);
    }
    return gone;
}

static void step_all_dying(struct kb_session *s)
{
    for (int i = 0; i < s->dying_count;) {
        if (!step_dying(s, &s->dying[i])) {
            i++;
            continue;
        }
        kb_peer_free(s->dying[i].peer);
        s->dying[i] = s->dying[--s->dying_count];
    }
}

// Beginning and end

bool kb_on_cpu(const struct kb_session *s)
{
    return s->device ? !strcmp(kb_json_text(s->device, "kind", ""), "cpu") : !strcmp(s->device_option, "cpu");
}

bool kb_on_gpu(const struct kb_session *s)
{
    return !strcmp(kb_json_text(s->device, "kind", ""), "cuda");
}

bool kb_no_device(const struct kb_session *s)
{
    return s->run.lane.absent;
}

static char *worker_beside_program(void)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    char *dir = kb_path_dir(self), *path = kb_path_join(dir, "kbench-worker");
    free(dir);
    return path;
}

static char **copy_list(const char *const *list, int count)
{
    char **copy = kb_alloc(sizeof *copy * (size_t)(count + 1));
    for (int i = 0; i < count; i++)
        copy[i] = kb_strdup(list[i]);
    return copy;
}

static void take_options(struct kb_session *s, const struct kb_session_options *o)
{
    s->options = *o;
    const char *environment = getenv("KB_WORKER");
    s->worker_path = o->worker                     ? kb_strdup(o->worker)
                     : environment && *environment ? kb_strdup(environment)
                                                   : worker_beside_program();
    s->bench_path = kb_path_clean(o->bench_path ? o->bench_path : ".");
    s->device_option = kb_strdup(o->device ? o->device : "auto");
    s->arch_option = kb_strdup(o->arch);
    s->like = kb_strdup(o->like);
    s->check = kb_strdup(o->check);
    s->focus = kb_strdup(o->variant);
    s->wanted_kernel = kb_strdup(o->kernel);
    s->include_dirs = copy_list(o->include_dirs, o->include_dir_count);
    for (int i = 0; i < o->include_dir_count; i++) {
        char *clean = kb_path_clean(s->include_dirs[i]);
        free(s->include_dirs[i]);
        s->include_dirs[i] = clean;
    }
    s->defines = copy_list(o->defines, o->define_count);
    kb_reach_environment(s);
    s->start_us = kb_now_us();
    s->started_unix = (int64_t)time(NULL);
    s->seed = o->seed ? o->seed : ((uint64_t)s->started_unix << 20 ^ (uint64_t)s->start_us) & 0xffffffffffffull;
    s->pin_variant = -1;
    for (int i = 0; i < KB_COMPILE_WORKERS; i++)
        s->compilers[i].program = -1;
    if (s->arch_option)
        snprintf(s->arch, sizeof s->arch, "%s", s->arch_option);
}

static void tell_left_out(struct kb_session *s)
{
    struct kb_text names = {0};
    for (int i = 0; i < s->slot_count; i++)
        if (!kb_is_wanted(s, &s->slots[i]))
            kb_text_addf(&names, "%s%s", names.size ? ", " : "", s->slots[i].name);
    if (names.size && !s->options.trace)
        kb_status_line(s, "info", NULL, "not built, since --variant asks for %s alone: %s", s->options.variant,
                       names.data);
    kb_text_free(&names);
}

int kb_session_new(const struct kb_session_options *options, struct kb_session **out, struct kb_error *e)
{
    struct kb_session *s = kb_alloc(sizeof *s);
    signal(SIGPIPE, SIG_IGN);
    kb_model_init(&s->model);
    take_options(s, options);
    if (kb_sources_open(s, e) || kb_records_start(s, e)) {
        kb_session_free(s);
        return -1;
    }
    kb_seeds_start(s);
    kb_sources_announce(s);
    if (s->inferred)
        kb_guess_offer(s);
    tell_left_out(s);
    if (options->baseline)
        s->pin_variant = kb_bench_find_variant(s->bench, options->baseline);
    *out = s;
    return 0;
}

void kb_session_free(struct kb_session *s)
{
    if (!s)
        return;
    s->ending = true;
    if (s->io && !s->ended) {
        kb_ended_all(s);
        cJSON *event = kb_event("end");
        kb_json_set_text(event, "reason", "quit");
        kb_emit(s, event);
    }
    s->options.on_event = NULL;
    kb_compile_free(s);
    kb_run_free(s);
    kb_profile_free(s);
    kb_races_free(s);
    kb_disasm_free(s);
    for (int i = 0; i < s->dying_count; i++)
        kb_peer_free(s->dying[i].peer);
    kb_records_free(s);
    kb_listing_free(s);
    kb_export_free(s);
    cJSON_Delete(s->permission);
    kb_seeds_free(s);
    kb_tracing_drop(s);
    kb_sources_free(s);
    kb_reads_free(s);
    kb_model_free(&s->model);
    kb_gpu_lock_close(&s->lock);
    cJSON_Delete(s->device);
    kb_free_list(s->include_dirs);
    kb_free_list(s->defines);
    kb_free_list(s->nvcc_options);
    char *texts[] = {s->worker_path,     s->bench_path,  s->bench_dir,  s->focus,        s->device_option,
                     s->arch_option,     s->like,        s->check,      s->compile_libs, s->default_arch,
                     s->compiler_reason, s->errors_text, s->nvcc_flags, s->nvcc_folders, s->wanted_kernel};
    for (size_t i = 0; i < KB_COUNT(texts); i++)
        free(texts[i]);
    kb_guess_drop(s);
    free(s->dying);
    free(s);
}

// Turning

int kb_session_fds(struct kb_session *s, struct pollfd *fds, int capacity)
{
    int n = 0;
    int io = kb_records_fd(s);
    if (io >= 0 && n < capacity)
        fds[n++] = (struct pollfd){io, POLLIN, 0};
    struct kb_peer *peers[KB_COMPILE_WORKERS + 5];
    int count = 0;
    for (int i = 0; i < KB_COMPILE_WORKERS; i++)
        peers[count++] = s->compilers[i].peer;
    peers[count++] = s->run.lane.peer;
    peers[count++] = s->run.spare;
    peers[count++] = s->profile.lane.peer;
    peers[count++] = s->races.lane.peer;
    peers[count++] = s->disasm.lane.peer;
    for (int i = 0; i < count; i++)
        if (peers[i])
            n += kb_peer_fds(peers[i], fds + n, capacity - n);
    for (int i = 0; i < s->dying_count; i++)
        n += kb_peer_fds(s->dying[i].peer, fds + n, capacity - n);
    return n;
}

int kb_session_wait_ms(const struct kb_session *s)
{
    if (s->ended)
        return -1;
    if (s->again)
        return 0;
    int wait = kb_sooner(kb_compile_wait_ms(s), kb_run_wait_ms(s));
    wait = kb_sooner(kb_sooner(wait, kb_profile_wait_ms(s)),
                     kb_sooner(kb_lane_wait_ms(&s->disasm.lane), kb_late_wait_ms(s)));
    wait = kb_sooner(wait, kb_lane_wait_ms(&s->races.lane));
    for (int i = 0; i < s->dying_count; i++)
        wait = kb_sooner(wait, kb_peer_wait_ms(s->dying[i].peer));
    return kb_sooner(wait, kb_records_wait_ms(s));
}

static void end_once(struct kb_session *s)
{
    if (!s->options.once || s->ending || !kb_all_done(s) || s->run.request != KB_REQUEST_NONE)
        return;
    kb_late_expire(s);
    if (!kb_late_done(s) || !kb_report_done(s))
        return;
    if (s->options.trace && !s->trace_asked) {
        s->trace_asked = true;
        kb_tracing_ask(s, s->options.trace, 0, s->options.trace_case ? *s->options.trace_case : -1);
    }
    if (kb_tracing_pending(s))
        return;
    s->ending = true;
    kb_ended_all(s);
    cJSON *event = kb_event("end");
    kb_json_set_text(event, "reason", "once");
    kb_emit(s, event);
}

void kb_session_step(struct kb_session *s)
{
    if (s->ended)
        return;
    s->again = false;
    kb_records_step(s);
    step_all_dying(s);
    kb_compile_step(s);
    kb_run_step(s);
    kb_profile_step(s);
    kb_races_step(s);
    kb_disasm_step(s);
    kb_pin_update(s);
    kb_ended_step(s);
    end_once(s);
    if (s->ending && !kb_records_pending(s))
        s->ended = true;
}

bool kb_session_ended(const struct kb_session *s)
{
    return s->ended;
}

// Of a command there is nothing to prove.
static bool is_proven(const struct kb_session *s, const struct kb_build *b)
{
    if (!b)
        return true;
    struct kb_ev_proof proof = kb_proof_of(&s->model, kb_model_version(&s->model, b->variant, b->version));
    kb_proof_free(&proof);
    return proof.proven;
}

int kb_session_exit_code(const struct kb_session *s)
{
    if (s->run.lane.absent || s->compiler_absent)
        return 3;
    if (s->options.trace && s->trace_failed)
        return 1;
    int code = 0;
    bool doubted = false;
    for (int i = 0; i < s->slot_count && code != 3; i++) {
        const struct kb_slot *slot = &s->slots[i];
        if (!kb_is_wanted(s, slot))
            continue;
        const struct kb_build *b = slot->source ? slot->current : NULL;
        const char *fault = b && kb_build_failed(b) && b->fault_of ? b->fault_of : "";
        if (!strcmp(fault, "worker"))
            code = 3;
        else if (!strcmp(fault, "reference"))
            code = 4;
        else if (slot->source && (slot->source->missing || (b && kb_build_failed(b))))
            code = code ? code : 1;
        else if (s->options.require_proof && !is_proven(s, slot->current))
            code = code ? code : 1;
        doubted = doubted || (b && b->doubted);
    }
    return code || !doubted ? code : 5;
}

const char *kb_session_bench_dir(const struct kb_session *s)
{
    return s->bench_dir;
}

// Commands

static void focus(struct kb_session *s, const char *name)
{
    if (!name || kb_bench_find_variant(s->bench, name) < 0)
        return;
    free(s->focus);
    s->focus = kb_strdup(name);
    cJSON *event = kb_event("focus");
    kb_json_set_text(event, "variant", name);
    kb_emit(s, event);
}

static void rerun(struct kb_session *s, const char *name)
{
    int i = name ? kb_bench_find_variant(s->bench, name) : kb_focus_index(s);
    if (i < 0 || !s->slots[i].current)
        return;
    for (int k = 0; k < 2; k++) { // what was refused before is asked again
        free(s->profile.refused[k]);
        s->profile.refused[k] = NULL;
    }
    s->profile.retry = true;
    kb_run_forgive(s);
    kb_build_rerun(s, s->slots[i].current, KB_RUNG_RUN);
}

static void retry(struct kb_session *s)
{
    struct kb_profile_worker *p = &s->profile;
    char **texts[] = {&p->refused[0], &p->refused[1], &p->prepare_error, &s->races.prepare_error};
    for (size_t i = 0; i < KB_COUNT(texts); i++) {
        free(*texts[i]);
        *texts[i] = NULL;
    }
    p->retry = true;
    kb_lane_forgive(&p->lane);
    kb_lane_forgive(&s->races.lane);
    kb_lane_forgive(&s->disasm.lane);
    kb_late_retry(s);
}

static void pause_builds(struct kb_session *s)
{
    s->paused = !s->paused;
    cJSON *event = kb_event("pause");
    kb_json_set_bool(event, "paused", s->paused);
    kb_emit(s, event);
    kb_consider_all(s);
}

static void cancel(struct kb_session *s)
{
    if (s->run.request == KB_REQUEST_TRACE)
        kb_run_drop(s, s->run.lane.build);
    for (int i = 0; i < s->slot_count; i++)
        if (s->slots[i].current && kb_build_in_flight(s->slots[i].current))
            kb_build_cancel(s, s->slots[i].current);
}

static void export(struct kb_session *s, const char *arg)
{
    const char *at = arg ? strrchr(arg, '@') : NULL;
    char *name = at ? kb_strndup(arg, (size_t)(at - arg)) : kb_strdup(arg);
    kb_session_export(s, name, at ? atoi(at + 1) : -1, NULL);
    free(name);
}

void kb_session_command(struct kb_session *s, enum kb_command command, const char *arg)
{
    switch (command) {
    case KB_COMMAND_FOCUS:
        focus(s, arg);
        break;
    case KB_COMMAND_RERUN:
        rerun(s, arg);
        break;
    case KB_COMMAND_PAUSE:
        pause_builds(s);
        break;
    case KB_COMMAND_PIN:
        kb_pin(s, arg);
        break;
    case KB_COMMAND_CANCEL:
        cancel(s);
        break;
    case KB_COMMAND_RESTART:
        kb_compile_restart(s, "restarted by hand");
        kb_run_restart(s, "restarted by hand");
        kb_profile_restart(s, "restarted by hand");
        kb_races_restart(s, "restarted by hand");
        kb_disasm_restart(s, "restarted by hand");
        break;
    case KB_COMMAND_RETRY:
        retry(s);
        break;
    case KB_COMMAND_ALLOW:
        kb_session_allow(s);
        break;
    case KB_COMMAND_EXPORT:
        export(s, arg);
        break;
    case KB_COMMAND_TRACE:
        kb_tracing_command(s, arg);
        break;
    }
    s->again = true;
}
