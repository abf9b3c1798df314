// The compile worker: requests in, PTX, cubin, errors and listings out. One job at a time; killed to cancel one.
#include "worker/builtin.h"
#include "worker/frames.h"
#include "worker/sass.h"
#include "worker/workers.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/memory.h"
#include "jit/compile.h"
#include "jit/pointers.h"
#include "jit/scan.h"
#include "jit/tree.h"
#include "profiles/trace.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGES_MAX = 200, MESSAGES_BYTES = 40 << 10, KERNELS_MAX = 64 };

struct job {
    int64_t id;
    struct kb_compile_request request;
    struct kb_compile_file *files;
    const char **include_dirs, **defines, **options, **kernels;
    bool traced, pointers;       // pointers: what kernels do through their parameters is asked for
    struct kb_trace_names names; // of a traced compile
};

static const char **texts_of(const cJSON *head, const char *key, int *count)
{
    const cJSON *list = kb_json_get(head, key), *item;
    const char **texts = kb_alloc(sizeof *texts * (size_t)(cJSON_GetArraySize(list) + 1));
    *count = 0;
    cJSON_ArrayForEach (item, list)
        if (cJSON_IsString(item))
            texts[(*count)++] = item->valuestring;
    return texts;
}

static void free_job(struct job *j)
{
    free(j->files);
    free(j->include_dirs);
    free(j->defines);
    free(j->options);
    free(j->kernels);
    kb_trace_names_free(&j->names);
}

static int cut_files(const struct kb_frame *f, struct job *j, struct kb_error *e)
{
    const cJSON *list = kb_json_get(f->head, "files"), *item;
    size_t at = 0;
    j->files = kb_alloc(sizeof *j->files * (size_t)(cJSON_GetArraySize(list) + 1));
    cJSON_ArrayForEach (item, list) {
        int64_t bytes = kb_json_int(item, "bytes", -1);
        if (bytes < 0 || (uint64_t)bytes > f->blob_size - at)
            return kb_fail(e, kb_json_text(item, "name", "?"), NULL, "the request's files do not fit its %zu bytes",
                           f->blob_size);
        j->files[j->request.file_count++] = (struct kb_compile_file){
            .name = kb_json_text(item, "name", ""), .data = f->blob ? f->blob + at : "", .size = (size_t)bytes};
        at += (size_t)bytes;
    }
    j->request.files = j->files;
    return 0;
}

static int read_job(const struct kb_frame *f, struct job *j, struct kb_error *e)
{
    struct kb_compile_request *r = &j->request;
    *j = (struct job){.id = kb_frame_job(f)};
    j->include_dirs = texts_of(f->head, "include_dirs", &r->include_dir_count);
    j->defines = texts_of(f->head, "defines", &r->define_count);
    j->options = texts_of(f->head, "options", &r->option_count);
    j->kernels = texts_of(f->head, "kernels", &r->kernel_count);
    r->include_dirs = j->include_dirs;
    r->defines = j->defines;
    r->options = j->options;
    r->kernels = j->kernels;
    r->main = kb_json_text(f->head, "main", "");
    r->arch = kb_json_text(f->head, "arch", NULL);
    r->compiler = kb_json_text(f->head, "compiler", "auto");
    r->lineinfo = kb_json_bool(f->head, "lineinfo", true);
    j->traced = kb_json_bool(f->head, "traced", false);
    j->pointers = kb_json_bool(f->head, "pointers", false);
    r->options_allowed = kb_json_bool(f->head, "options_allowed", false) && !j->traced;
    if (strcmp(kb_json_text(f->head, "for", "variant"), "builtin"))
        return cut_files(f, j, e);
    r->main = kb_builtin_main();
    r->file_count = kb_builtin_files(kb_json_text(f->head, "name", "element"), &r->files, e);
    return r->file_count > 0 ? 0 : -1;
}

static void send_scan(int64_t job, const struct kb_scan *s)
{
    cJSON *head = kb_frame_head("scan", job), *kernels = cJSON_AddArrayToObject(head, "kernels"),
          *notes = cJSON_AddArrayToObject(head, "notes");
    for (int i = 0; i < s->kernel_count && i < KERNELS_MAX; i++) {
        cJSON *k = cJSON_CreateObject();
        kb_worker_set_clean(k, "name", s->kernels[i].name, 200);
        kb_json_set_number(k, "line", s->kernels[i].line);
        cJSON_AddItemToArray(kernels, k);
    }
    for (int i = 0; i < s->note_count && i < 32; i++) {
        char *clean = kb_cleaned(s->notes[i]);
        cJSON_AddItemToArray(notes, cJSON_CreateString(clean));
        free(clean);
    }
    kb_worker_send(head, NULL, 0);
}

static bool scan_rung(const struct job *j)
{
    int64_t start = kb_now_us();
    struct kb_scan scan;
    kb_scan_request(&j->request, &scan);
    bool ok = scan.ok;
    send_scan(j->id, &scan);
    kb_worker_rung(j->id, "scan", ok ? "pass" : "fail", (double)(kb_now_us() - start) / 1000, ok ? NULL : scan.reason);
    if (!ok)
        kb_worker_done(j->id, "fail", scan.reason, false);
    kb_scan_free(&scan);
    return ok;
}

static void send_errors(int64_t job, const struct kb_compiled *c)
{
    cJSON *head = kb_frame_head("errors", job), *list = cJSON_AddArrayToObject(head, "errors");
    size_t bytes = 0;
    int sent = 0;
    for (; sent < c->message_count && sent < MESSAGES_MAX && bytes < MESSAGES_BYTES; sent++) {
        const struct kb_compile_message *m = &c->messages[sent];
        cJSON *item = cJSON_CreateObject();
        kb_worker_set_clean(item, "file", m->file, 200);
        kb_json_set_number(item, "line", m->line);
        kb_json_set_number(item, "column", m->column);
        kb_json_set_text(item, "severity", m->severity);
        kb_worker_set_clean(item, "text", m->text, 1000);
        char *line = kb_json_line(item);
        bytes += strlen(line);
        free(line);
        cJSON_AddItemToArray(list, item);
    }
    kb_json_set_number(head, "dropped", c->message_count - sent);
    kb_worker_send(head, NULL, 0);
}

static void size_or_unknown(cJSON *item, const char *key, long value)
{
    kb_json_measured(item, key, (double)value, value < 0 ? "the compiler did not say" : NULL);
}

// What the kernel does through a parameter that is an address; null: it could not be followed.
static cJSON *use_item(const struct kb_param_use *u)
{
    if (!u->known)
        return cJSON_CreateNull();
    cJSON *item = cJSON_CreateObject();
    kb_json_set_bool(item, "loads", u->loads);
    kb_json_set_bool(item, "stores", u->stores);
    kb_json_set_bool(item, "atomics", u->atomics);
    kb_json_set_text(item, "type", u->type);
    kb_json_set_number(item, "width", u->width);
    return item;
}

static cJSON *kernel_item(const struct kb_compiled_kernel *k, const struct kb_pointers *pointers)
{
    cJSON *item = cJSON_CreateObject();
    kb_worker_set_clean(item, "name", k->name, 300);
    kb_json_set_text(item, "lowered", k->lowered);
    kb_json_measured(item, "line", k->line, k->line ? NULL : "not found in the main file");
    kb_json_set_number(item, "registers", k->registers);
    size_or_unknown(item, "spill_store_bytes", k->spill_store_bytes);
    size_or_unknown(item, "spill_load_bytes", k->spill_load_bytes);
    size_or_unknown(item, "shared_bytes", k->shared_bytes);
    size_or_unknown(item, "stack_bytes", k->stack_bytes);
    size_or_unknown(item, "const_bytes", k->const_bytes);
    kb_json_measured(item, "max_threads", k->max_threads, k->max_threads ? NULL : "no launch bounds");
    cJSON *params = cJSON_AddArrayToObject(item, "params");
    struct kb_param_use uses[KB_COUNT(k->params)];
    int known = pointers ? kb_pointers_of(pointers, k->lowered, uses, (int)KB_COUNT(uses)) : 0;
    for (int i = 0; i < k->param_count; i++) {
        cJSON *p = cJSON_CreateObject();
        kb_json_set_number(p, "offset", k->params[i].offset);
        kb_json_set_number(p, "bytes", k->params[i].bytes);
        if (i < known)
            kb_json_set(p, "use", use_item(&uses[i]));
        cJSON_AddItemToArray(params, p);
    }
    return item;
}

// Kernels as far as the frame's line has room; how many are left out is said.
static void add_kernels(cJSON *head, const struct kb_compiled *c, const struct kb_pointers *pointers)
{
    cJSON *kernels = cJSON_AddArrayToObject(head, "kernels");
    size_t bytes = 0;
    int left_out = 0;
    for (int i = 0; i < c->kernel_count; i++) {
        cJSON *item = kernel_item(&c->kernels[i], pointers);
        char *line = kb_json_line(item);
        size_t more = strlen(line);
        free(line);
        if (bytes + more > MESSAGES_BYTES) {
            left_out++;
            cJSON_Delete(item);
            continue;
        }
        bytes += more;
        cJSON_AddItemToArray(kernels, item);
    }
    if (left_out)
        kb_json_set_number(head, "kernels_left_out", left_out);
}

static void add_texts(cJSON *head, const char *key, const char *const *texts, int count)
{
    cJSON *list = cJSON_AddArrayToObject(head, key);
    for (int i = 0; i < count && i < 100; i++) {
        cJSON *holder = cJSON_CreateObject();
        kb_worker_set_clean(holder, "text", texts[i], 100);
        cJSON_AddItemToArray(list, cJSON_DetachItemFromObject(holder, "text"));
        cJSON_Delete(holder);
    }
}

// The sections of a traced compile, as its events number them.
static void add_sections(cJSON *head, const struct kb_trace_names *names)
{
    cJSON *list = cJSON_AddArrayToObject(head, "sections");
    for (int i = 0; i < names->count && i < KB_TRACE_SECTIONS; i++) {
        cJSON *item = cJSON_CreateObject();
        kb_worker_set_clean(item, "name", names->items[i].name, 80);
        kb_worker_set_clean(item, "file", names->items[i].file, 200);
        kb_json_set_number(item, "line", names->items[i].line);
        kb_json_set_number(item, "id", names->items[i].id);
        cJSON_AddItemToArray(list, item);
    }
}

static void send_compiled(const struct job *j, const struct kb_compiled *c)
{
    cJSON *head = kb_frame_head("compiled", j->id);
    const char *blank = strchr(c->compiler, ' ');
    char *compiler = kb_strndup(c->compiler, blank ? (size_t)(blank - c->compiler) : strlen(c->compiler));
    kb_json_set_text(head, "compiler", compiler);
    kb_json_set_text(head, "compiler_version", blank ? blank + 1 : NULL);
    kb_json_set_text(head, "arch", c->arch);
    add_texts(head, "options", j->request.options, j->request.option_count);
    struct kb_pointers *pointers = j->pointers ? kb_pointers_read(c->ptx, c->ptx_size) : NULL;
    add_kernels(head, c, pointers);
    kb_pointers_free(pointers);
    kb_json_set_number(head, "ptx_bytes", (double)c->ptx_size);
    kb_json_set_number(head, "cubin_bytes", (double)c->cubin_size);
    if (c->includes_known)
        add_texts(head, "includes", (const char *const *)c->includes, c->include_count);
    add_texts(head, "notes", (const char *const *)c->notes, c->note_count);
    if (j->traced)
        add_sections(head, &j->names);
    struct kb_text blob = {0};
    kb_text_bytes(&blob, c->ptx, c->ptx_size);
    kb_text_bytes(&blob, c->cubin, c->cubin_size);
    kb_worker_send(head, blob.data, blob.size);
    kb_text_free(&blob);
    free(compiler);
}

static void report(const struct job *j, const struct kb_compiled *c, double ms)
{
    kb_worker_rung(j->id, "compile", c->ok ? "pass" : "fail", ms, c->ok ? NULL : c->reason);
    if (c->log && c->log[0])
        kb_worker_log(j->id, "compile", c->log, strlen(c->log));
    send_errors(j->id, c);
    if (c->ok)
        send_compiled(j, c);
    kb_worker_done(j->id, c->ok ? "pass" : "fail", c->ok ? NULL : c->reason, false);
}

static void compile_job(const struct kb_frame *f)
{
    struct job j;
    struct kb_error e = {0};
    struct kb_compiled c;
    int64_t start = kb_now_us();
    bool builtin = !strcmp(kb_json_text(f->head, "for", "variant"), "builtin");
    if (read_job(f, &j, &e)) {
        kb_worker_done(j.id, "fail", kb_error_line(&e), false);
    } else if (scan_rung(&j)) {
        kb_worker_rung(j.id, "compile", "running", -1, NULL);
        int status = builtin    ? kb_builtin_compile(&j.request, &c, &e)
                     : j.traced ? kb_compile_traced(&j.request, &c, &j.names, &e)
                                : kb_compile(&j.request, &c, &e);
        double ms = (double)(kb_now_us() - start) / 1000;
        if (status) {
            kb_worker_rung(j.id, "compile", "fail", ms, kb_error_line(&e));
            kb_worker_done(j.id, "fail", kb_error_line(&e), false);
        } else {
            report(&j, &c, ms);
            kb_compiled_free(&c);
        }
    }
    free_job(&j);
}

static bool send_hello(void)
{
    const struct kb_toolkit *t = kb_toolkit_get();
    struct kb_error e = {0};
    bool usable = kb_toolkit_open("nvrtc", NULL, 0, &e) != NULL;
    cJSON *archs = kb_toolkit_archs(t);
    cJSON *head = kb_frame_head("hello", 0);
    kb_json_set_text(head, "role", "compile");
    kb_json_set_number(head, "pid", getpid());
    kb_json_set_text(head, "tool", KB_VERSION);
    kb_json_set(head, "libs", kb_toolkit_libs(t));
    kb_json_set_text(head, "device", NULL);
    kb_json_set(head, "archs", archs ? archs : cJSON_CreateArray());
    usable = usable && archs;
    char *nvcc = usable ? NULL : kb_toolkit_tool(t, "nvcc", NULL);
    bool able = usable || nvcc;
    free(nvcc);
    kb_json_set_text(head, "failed", NULL);
    if (!able) {
        cJSON *failed = cJSON_CreateObject();
        kb_json_set_text(failed, "code", "no_compiler");
        kb_worker_set_clean(failed, "what", e.what, 2000);
        kb_worker_set_clean(failed, "remedy", e.remedy, 1000);
        kb_json_set(head, "failed", failed);
    }
    kb_worker_send(head, NULL, 0);
    return able;
}

static void answer(const struct kb_frame *f)
{
    const char *type = kb_frame_type(f);
    if (!strcmp(type, "compile")) {
        compile_job(f);
    } else if (!strcmp(type, "sass")) {
        kb_sass_job(f);
    } else if (!strcmp(type, "diff")) {
        kb_diff_job(f);
    } else {
        char *reason = kb_format("the compile worker knows no request \"%.40s\"", type);
        kb_worker_done(kb_frame_job(f), "fail", reason, false);
        free(reason);
    }
}

// A worker that stands by spends its first idle moment on getting NVRTC ready.
static void warm_up_if_idle(void)
{
    enum { MOMENT_MS = 30 };
    struct pollfd request = {.fd = 0, .events = POLLIN};
    if (!kb_worker_pending() && poll(&request, 1, MOMENT_MS) == 0)
        kb_compile_warm_up();
}

int kb_run_compile_worker(const struct kb_worker_options *o)
{
    kb_compile_keep_memory();
    struct kb_error e = {0};
    if (kb_worker_open(o->stdio, "compile", &e)) {
        fprintf(stderr, "kbench-worker: %s\n", kb_error_line(&e));
        return KB_EXIT_USAGE;
    }
    int got = 1, status = send_hello() ? KB_EXIT_OK : KB_EXIT_NO_WORKER;
    if (status == KB_EXIT_OK)
        warm_up_if_idle();
    for (struct kb_frame f; status == KB_EXIT_OK && (got = kb_worker_read(&f, &e)) == 1;) {
        bool quit = !strcmp(kb_frame_type(&f), "quit");
        if (!quit)
            answer(&f);
        kb_frame_free(&f);
        if (quit)
            break;
    }
    if (got < 0) {
        kb_worker_log(0, "compile", e.what, strlen(e.what));
        status = KB_EXIT_USAGE;
    }
    kb_worker_close();
    kb_tree_remove_all();
    _exit(status); // not through the destructors of NVRTC, which has threads of its own
}
