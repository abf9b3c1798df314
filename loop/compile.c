// The compile lane: two workers, so that one is always warm. A compile that nobody wants any more is killed with its
// worker, and the other takes the next one at once.
#include "base/file.h"
#include "loop/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HELLO_MS = 30000, MOST_FAILURES = 3, STEADY_MS = 10000 }; // STEADY_MS: see loop/run.c

// Workers

static void start_worker(struct kb_session *s, struct kb_compile_worker *w)
{
    struct kb_error error = {0};
    char *argv[] = {s->worker_path, "compile", NULL};
    w->peer = kb_peer_start(argv, &error);
    if (!w->peer) {
        kb_compile_absent(s, kb_error_line(&error));
        return;
    }
    kb_peer_deadline(w->peer, HELLO_MS);
    kb_emit_worker(s, KB_WORKER_COMPILE, "starting", w->peer, NULL);
}

static bool in_a_job(const struct kb_session *s, const struct kb_build *b)
{
    for (int i = 0; i < KB_COMPILE_WORKERS; i++)
        if (s->compilers[i].job && s->compilers[i].build == b)
            return true;
    return false;
}

static void release(struct kb_compile_worker *w)
{
    kb_build_unref(w->build);
    w->build = NULL;
    w->program = -1;
    w->job = 0;
}

void kb_compile_absent(struct kb_session *s, const char *reason)
{
    if (s->compiler_absent)
        return;
    s->compiler_absent = true;
    free(s->compiler_reason);
    s->compiler_reason = kb_strdup(reason);
    kb_emit_worker(s, KB_WORKER_COMPILE, "failed", NULL, reason);
    kb_status_line(s, "error", "kbench-tui doctor says what is missing", "no compiler: %s", reason);
    for (int i = 0; i < KB_PROGRAMS; i++) {
        s->programs[i].failed = true;
        free(s->programs[i].reason);
        s->programs[i].reason = kb_strdup(reason);
    }
    kb_consider_all(s);
    for (int i = 0; i < s->slot_count; i++) {
        struct kb_build *b = s->slots[i].current;
        if (b && !b->dead && b->stage <= KB_STAGE_COMPILE && !in_a_job(s, b))
            kb_build_no_compiler(s, b);
    }
}

// Where no device says what to compile for: sm_90, the architecture of the GPU that --like stands for by default.
static char *default_arch(const cJSON *archs)
{
    const cJSON *arch, *last = cJSON_GetArrayItem(archs, cJSON_GetArraySize(archs) - 1);
    cJSON_ArrayForEach (arch, archs)
        if (cJSON_IsString(arch) && !strcmp(arch->valuestring, "sm_90"))
            last = arch;
    return cJSON_IsString(last) ? kb_strdup(last->valuestring) : NULL;
}

static void hello(struct kb_session *s, struct kb_compile_worker *w, const cJSON *head)
{
    const cJSON *failed = kb_json_get(head, "failed"), *libs = kb_json_get(head, "libs"),
                *archs = kb_json_get(head, "archs");
    kb_peer_deadline(w->peer, 0);
    char *text = kb_json_line(libs);
    if (!s->compile_libs || strcmp(s->compile_libs, text)) {
        free(s->compile_libs);
        s->compile_libs = kb_strdup(text);
        cJSON *event = kb_event("libs");
        kb_json_set_text(event, "role", "compile");
        kb_json_set(event, "libs", libs ? cJSON_Duplicate(libs, true) : cJSON_CreateArray());
        kb_emit(s, event);
        kb_sources_decided(s);
    }
    free(text);
    if (cJSON_IsObject(failed)) {
        char *reason = kb_format("%s%s%s", kb_json_text(failed, "what", "the compile worker failed"),
                                 kb_json_text(failed, "remedy", NULL) ? ". " : "", kb_json_text(failed, "remedy", ""));
        kb_compile_absent(s, reason);
        free(reason);
        return;
    }
    if (!s->default_arch)
        s->default_arch = default_arch(archs);
    w->ready = true;
    w->ready_us = kb_now_us();
    kb_emit_worker(s, KB_WORKER_COMPILE, "ready", w->peer, NULL);
    kb_consider_waiting(s);
    for (int i = 0; i < s->slot_count; i++) // what could not be compiled before
        if (s->slots[i].current && s->slots[i].current->rungs[KB_RUNG_COMPILE] == KB_STATUS_NA)
            kb_consider_slot(s, i);
}

// Requests

static cJSON *texts(const char *const *list, int count)
{
    cJSON *array = cJSON_CreateArray();
    for (int i = 0; i < count; i++)
        cJSON_AddItemToArray(array, cJSON_CreateString(list[i]));
    return array;
}

static cJSON *files_of(const struct kb_snapshot *snapshot, struct kb_text *blob)
{
    cJSON *files = cJSON_CreateArray();
    for (int i = 0; i < snapshot->file_count; i++) {
        if (snapshot->files[i].beside)
            continue;
        cJSON *file = cJSON_CreateObject();
        kb_json_set_text(file, "name", snapshot->files[i].name);
        kb_json_set_number(file, "bytes", (double)snapshot->files[i].size);
        cJSON_AddItemToArray(files, file);
        kb_text_bytes(blob, snapshot->files[i].data, snapshot->files[i].size);
    }
    return files;
}

static cJSON *kernels_of(const struct kb_variant *v)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < v->launch_count; i++) {
        bool listed = false;
        for (int k = 0; k < i; k++)
            listed = listed || !strcmp(v->launches[k].kernel, v->launches[i].kernel);
        if (!listed)
            cJSON_AddItemToArray(list, cJSON_CreateString(v->launches[i].kernel));
    }
    return list;
}

static cJSON *defines_of(const struct kb_variant *v)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < v->define_count; i++) {
        char *text = kb_format("%s=%s", v->defines[i].name, v->defines[i].value ? v->defines[i].value : "");
        cJSON_AddItemToArray(list, cJSON_CreateString(text));
        free(text);
    }
    return list;
}

static cJSON *options_of(const struct kb_session *s, const struct kb_snapshot *snapshot, const struct kb_variant *v)
{
    int count = 0;
    char **options = kb_reach_options(s, v, snapshot, &count);
    cJSON *list = texts((const char *const *)options, count);
    kb_free_list(options);
    return list;
}

void kb_compile_fields(struct kb_session *s, cJSON *head, const char *what, const struct kb_snapshot *snapshot,
                       const struct kb_variant *v, struct kb_text *blob)
{
    kb_json_set_text(head, "for", what);
    kb_json_set_text(head, "name", v ? v->name : "element");
    kb_json_set_text(head, "main", snapshot ? snapshot->main : NULL);
    kb_json_set(head, "files", snapshot ? files_of(snapshot, blob) : cJSON_CreateArray());
    kb_json_set(head, "include_dirs",
                snapshot ? texts((const char *const *)snapshot->include_dirs, snapshot->include_dir_count)
                         : cJSON_CreateArray());
    kb_json_set(head, "defines", v ? defines_of(v) : cJSON_CreateArray());
    kb_json_set(head, "options", v ? options_of(s, snapshot, v) : cJSON_CreateArray());
    kb_json_set_text(head, "arch", s->arch);
    kb_json_set(head, "kernels", v ? kernels_of(v) : cJSON_CreateArray());
    kb_json_set_text(head, "compiler", v && v->compiler ? v->compiler : "auto");
    kb_json_set_bool(head, "lineinfo", true);
    kb_json_set_bool(head, "pointers", v && s->inferred);
}

static void send_compile(struct kb_session *s, struct kb_compile_worker *w, const char *what,
                         const struct kb_snapshot *snapshot, const struct kb_variant *v)
{
    struct kb_text blob = {0};
    w->job = ++s->next_job;
    cJSON *head = kb_frame_head("compile", w->job);
    kb_compile_fields(s, head, what, snapshot, v, &blob);
    kb_json_set_bool(head, "options_allowed",
                     w->build ? w->build->options_allowed : s->programs[KB_PROGRAM_REFERENCE].allowed);
    kb_peer_send(w->peer, head, blob.data, blob.size);
    kb_text_free(&blob);
    w->rung_us = kb_now_us();
}

static void compile_build(struct kb_session *s, struct kb_compile_worker *w, struct kb_build *b)
{
    b->stage = KB_STAGE_COMPILE;
    w->build = kb_build_ref(b);
    w->program = -1;
    kb_build_rung(s, b, KB_RUNG_SCAN, KB_STATUS_RUNNING, NAN, NULL);
    send_compile(s, w, "variant", &b->source->snapshot, b->resolved);
    // Scanning is quick, and the same request goes on to the compiler, which may take its time.
    kb_peer_deadline(w->peer, kb_rungs[KB_RUNG_SCAN].deadline_ms);
    kb_emit_worker(s, KB_WORKER_COMPILE, "busy", w->peer, b->name);
}

static bool is_due(const struct kb_program *p)
{
    return p->wanted && !p->compiling && !p->ready && !p->failed;
}

// False: it fails, or its options have to be allowed first, and are asked about.
static bool open_program(struct kb_session *s, enum kb_program_kind kind)
{
    struct kb_program *p = &s->programs[kind];
    if (kind == KB_PROGRAM_REFERENCE && !s->reference->latest) {
        p->failed = s->reference->missing;
        free(p->reason);
        p->reason = kb_format("the reference %s cannot be read", kb_path_base(s->reference->path));
        return false;
    }
    return kind != KB_PROGRAM_REFERENCE || kb_options_may_go(s, NULL);
}

static void compile_program(struct kb_session *s, struct kb_compile_worker *w, enum kb_program_kind kind)
{
    struct kb_program *p = &s->programs[kind];
    p->compiling = true;
    w->program = (int)kind;
    if (kind == KB_PROGRAM_BUILTIN)
        send_compile(s, w, "builtin", NULL, NULL);
    else
        send_compile(s, w, "reference", &s->reference->latest->snapshot, &s->bench->reference.program);
    p->generation = s->bench_generation;
    kb_peer_deadline(w->peer, kb_rungs[KB_RUNG_COMPILE].deadline_ms);
}

static bool assign(struct kb_session *s, struct kb_compile_worker *w)
{
    struct kb_build *b = kb_build_at(s, kb_order(s).compile);
    if (b) {
        compile_build(s, w, b);
        return true;
    }
    for (int i = 0; i < KB_PROGRAMS; i++)
        if (is_due(&s->programs[i]) && open_program(s, (enum kb_program_kind)i)) {
            compile_program(s, w, (enum kb_program_kind)i);
            return true;
        }
    return false;
}

// Answers

void kb_take_blobs(struct kb_blobs *blobs, struct kb_frame *frame)
{
    size_t ptx = (size_t)kb_json_int(frame->head, "ptx_bytes", 0);
    size_t cubin = (size_t)kb_json_int(frame->head, "cubin_bytes", 0);
    kb_blobs_free(blobs);
    if (ptx > frame->blob_size || cubin > frame->blob_size - ptx)
        return;
    blobs->ptx = kb_alloc(ptx + 1);
    blobs->cubin = kb_alloc(cubin + 1);
    if (ptx)
        memcpy(blobs->ptx, frame->blob, ptx);
    if (cubin)
        memcpy(blobs->cubin, frame->blob + ptx, cubin);
    blobs->ptx_size = ptx;
    blobs->cubin_size = cubin;
}

static cJSON *compiled_of(const cJSON *head)
{
    static const char *const keys[] = {"compiler", "compiler_version", "arch", "options", "kernels", "includes"};
    cJSON *compiled = cJSON_CreateObject();
    for (size_t i = 0; i < KB_COUNT(keys); i++)
        if (kb_json_get(head, keys[i]))
            kb_json_set(compiled, keys[i], cJSON_Duplicate(kb_json_get(head, keys[i]), true));
    return compiled;
}

static void rung_frame(struct kb_session *s, struct kb_compile_worker *w, const cJSON *head)
{
    int rung = kb_rung_parse(kb_json_text(head, "rung", "")),
        status = kb_status_parse(kb_json_text(head, "status", "?"));
    if ((rung != KB_RUNG_SCAN && rung != KB_RUNG_COMPILE) || status < 0 || !w->build)
        return;
    double ms = kb_json_number(head, "ms", (double)(kb_now_us() - w->rung_us) / 1000.0);
    if (status == KB_STATUS_RUNNING && w->build->rungs[rung] == KB_STATUS_RUNNING)
        return;
    kb_build_rung(s, w->build, (enum kb_rung)rung, (enum kb_status)status, ms, kb_json_text(head, "reason", NULL));
    if (rung == KB_RUNG_SCAN && status == KB_STATUS_PASS) {
        w->rung_us = kb_now_us();
        kb_build_rung(s, w->build, KB_RUNG_COMPILE, KB_STATUS_RUNNING, NAN, NULL);
        kb_peer_deadline(w->peer, kb_rungs[KB_RUNG_COMPILE].deadline_ms);
    }
}

// Some rung is still open when the job ends: `done` decides it.
static void end_of_build(struct kb_session *s, struct kb_build *b, enum kb_status status, const char *reason)
{
    enum kb_rung last = KB_RUNG_COMPILE;
    for (int rung = KB_RUNG_SCAN; rung <= KB_RUNG_COMPILE; rung++) {
        if (b->rungs[rung] == KB_STATUS_FAIL) {
            last = (enum kb_rung)rung;
            break;
        }
        if (b->rungs[rung] > KB_STATUS_RUNNING)
            continue;
        bool nothing = status == KB_STATUS_PASS && rung == KB_RUNG_COMPILE && !b->compiled;
        kb_build_rung(s, b, (enum kb_rung)rung, nothing ? KB_STATUS_FAIL : status, NAN,
                      nothing ? "the compiler gave no binary" : reason);
        if (status == KB_STATUS_FAIL) {
            last = (enum kb_rung)rung;
            break;
        }
    }
    kb_build_rung_done(s, b, last);
}

static void end_of_program(struct kb_session *s, int kind, bool ok, const char *reason)
{
    struct kb_program *p = &s->programs[kind];
    p->compiling = false;
    if (kind == KB_PROGRAM_REFERENCE && p->generation != s->bench_generation)
        return; // another reference is wanted by now
    p->ready = ok && p->blobs.ptx_size;
    p->failed = !p->ready;
    free(p->reason);
    p->reason = kb_strdup(ok ? "the compiler gave no binary" : reason);
    if (kind == KB_PROGRAM_REFERENCE)
        kb_contract_compiled(s);
    if (p->failed)
        kb_status_line(s, "error", NULL, "the %s does not compile: %s",
                       kind == KB_PROGRAM_REFERENCE ? "reference" : "worker's own device code", p->reason);
}

static void log_frame(struct kb_session *s, const struct kb_compile_worker *w, const struct kb_frame *frame)
{
    const char *text = kb_json_text(frame->head, "text", frame->blob ? frame->blob : "");
    struct kb_text clean = {0};
    kb_clean(&clean, text, strlen(text), false);
    const char *variant = w->build ? w->build->name : NULL;
    if (clean.size)
        kb_emit_log(s, "compile", variant, clean.data, kb_json_int(frame->head, "dropped", 0));
    kb_text_free(&clean);
}

static void program_errors(struct kb_session *s, const cJSON *head)
{
    const cJSON *error = cJSON_GetArrayItem(kb_json_get(head, "errors"), 0);
    if (!error)
        return;
    char *text = kb_format("%s:%d: %s", kb_json_text(error, "file", ""), (int)kb_json_int(error, "line", 0),
                           kb_json_text(error, "text", ""));
    char *clean = kb_cleaned(text);
    kb_emit_log(s, "compile", NULL, clean, 0);
    free(clean);
    free(text);
}

static void job_frame(struct kb_session *s, struct kb_compile_worker *w, struct kb_frame *frame)
{
    const char *type = kb_frame_type(frame);
    if (!strcmp(type, "log")) {
        log_frame(s, w, frame);
    } else if (!strcmp(type, "rung")) {
        rung_frame(s, w, frame->head);
    } else if (!strcmp(type, "scan") && w->build) {
        cJSON *event = kb_build_event(w->build, "scan");
        kb_json_set(event, "kernels", cJSON_Duplicate(kb_json_get(frame->head, "kernels"), true));
        kb_json_set(event, "notes", cJSON_Duplicate(kb_json_get(frame->head, "notes"), true));
        kb_emit_build(s, w->build, event);
    } else if (!strcmp(type, "errors")) {
        if (w->build)
            kb_build_errors(s, w->build, frame->head);
        else
            program_errors(s, frame->head);
    } else if (!strcmp(type, "compiled")) {
        struct kb_blobs *blobs = w->build ? &w->build->blobs : &s->programs[w->program].blobs;
        cJSON **compiled = w->build ? &w->build->compiled : &s->programs[w->program].compiled;
        kb_take_blobs(blobs, frame);
        cJSON_Delete(*compiled);
        *compiled = compiled_of(frame->head);
        if (w->build)
            kb_build_resources(s, w->build);
    }
}

static void end_of_job(struct kb_session *s, struct kb_compile_worker *w, enum kb_status status, const char *reason)
{
    struct kb_build *b = kb_build_ref(w->build);
    int program = w->program;
    release(w);
    if (b && !b->dead)
        kb_guess_compiled(s, b);
    if (b && !b->dead)
        end_of_build(s, b, status, reason);
    else if (program >= 0)
        end_of_program(s, program, status == KB_STATUS_PASS, reason);
    kb_build_unref(b);
    s->again = true;
}

static void take_frame(struct kb_session *s, struct kb_compile_worker *w, struct kb_frame *frame)
{
    const char *type = kb_frame_type(frame);
    if (!strcmp(type, "hello")) {
        hello(s, w, frame->head);
        return;
    }
    if (!w->job || kb_frame_job(frame) != w->job || (!w->build && w->program < 0))
        return;
    if (strcmp(type, "done")) {
        job_frame(s, w, frame);
        return;
    }
    kb_peer_deadline(w->peer, 0);
    s->compile_failures = 0;
    kb_emit_worker(s, KB_WORKER_COMPILE, "ready", w->peer, NULL);
    int status = kb_status_parse(kb_json_text(frame->head, "status", "fail"));
    char *reason = kb_cleaned(kb_json_text(frame->head, "reason", "the compiler gave no reason"));
    end_of_job(s, w, status == KB_STATUS_PASS ? KB_STATUS_PASS : KB_STATUS_FAIL, reason);
    free(reason);
}

static void worker_ended(struct kb_session *s, struct kb_compile_worker *w, const struct kb_peer_event *event)
{
    bool idle = w->ready && !w->job, steady = idle && kb_now_us() - w->ready_us > STEADY_MS * 1000LL;
    bool unasked = !w->ready || (idle && !event->asked); // else its job is what failed
    kb_emit_worker(s, KB_WORKER_COMPILE, event->asked ? "killed" : "ended", w->peer, event->text);
    kb_peer_free(w->peer);
    w->peer = NULL;
    w->ready = false;
    if (w->job) {
        char *reason = kb_format("the compiler broke off: %s", event->text);
        end_of_job(s, w, KB_STATUS_FAIL, reason);
        free(reason);
    }
    if (steady)
        s->compile_failures = 0;
    if (unasked && !s->compiler_absent && ++s->compile_failures >= MOST_FAILURES)
        kb_compile_absent(s, event->text);
}

static void step_worker(struct kb_session *s, struct kb_compile_worker *w)
{
    if (!w->peer && !s->compiler_absent)
        start_worker(s, w);
    if (!w->peer)
        return;
    struct kb_peer_event event;
    kb_peer_step(w->peer);
    while (w->peer && kb_peer_next(w->peer, &event)) {
        if (event.kind == KB_PEER_FRAME)
            take_frame(s, w, &event.frame);
        else if (event.kind == KB_PEER_LINE)
            kb_emit_log(s, "compile", NULL, event.text, event.dropped);
        else
            worker_ended(s, w, &event);
        kb_peer_event_free(&event);
    }
    if (w->peer && w->ready && !w->job && !kb_peer_ending(w->peer) && s->arch[0] && !s->compiler_absent)
        assign(s, w);
}

void kb_compile_step(struct kb_session *s)
{
    for (int i = 0; i < KB_COMPILE_WORKERS; i++)
        step_worker(s, &s->compilers[i]);
}

int kb_compile_wait_ms(const struct kb_session *s)
{
    int wait = kb_lookup_wait_ms(s);
    for (int i = 0; i < KB_COMPILE_WORKERS; i++)
        if (s->compilers[i].peer)
            wait = kb_sooner(wait, kb_peer_wait_ms(s->compilers[i].peer));
    return wait;
}

static void replace_worker(struct kb_session *s, struct kb_compile_worker *w, const char *why)
{
    if (w->program >= 0 && w->job)
        s->programs[w->program].compiling = false;
    release(w);
    if (w->peer)
        kb_retire(s, w->peer, KB_WORKER_COMPILE, why, true);
    w->peer = NULL;
    w->ready = false;
    if (!s->ending && !s->compiler_absent)
        start_worker(s, w);
}

void kb_compile_drop(struct kb_session *s, const struct kb_build *b)
{
    for (int i = 0; i < KB_COMPILE_WORKERS; i++)
        if (s->compilers[i].job && s->compilers[i].build == b)
            replace_worker(s, &s->compilers[i], "its compile was superseded");
}

void kb_compile_restart(struct kb_session *s, const char *why)
{
    s->compiler_absent = false;
    s->compile_failures = 0;
    for (int i = 0; i < KB_PROGRAMS; i++)
        s->programs[i].failed = false;
    for (int i = 0; i < KB_COMPILE_WORKERS; i++)
        replace_worker(s, &s->compilers[i], why);
}

void kb_compile_free(struct kb_session *s)
{
    for (int i = 0; i < KB_COMPILE_WORKERS; i++) {
        kb_peer_free(s->compilers[i].peer);
        s->compilers[i].peer = NULL;
        release(&s->compilers[i]);
    }
}
