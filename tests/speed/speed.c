#include "speed/speed.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "worker/builtin.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *program_name = "?";

void speed_die(const char *what, const struct kb_error *e)
{
    fprintf(stderr, "%s: %s: %s\n", program_name, what, e ? kb_error_line(e) : "");
    exit(1);
}

static cJSON *kernels_json(const struct kb_compiled *c)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < c->kernel_count; i++) {
        cJSON *k = cJSON_CreateObject();
        kb_json_set_text(k, "name", c->kernels[i].name);
        kb_json_set_text(k, "lowered", c->kernels[i].lowered);
        kb_json_set_number(k, "registers", c->kernels[i].registers);
        cJSON_AddItemToArray(list, k);
    }
    return list;
}

void speed_compile(const struct speed *s, const struct kb_variant *v, const char *text, struct kb_compiled *out)
{
    struct kb_error error = {0};
    struct kb_compile_file file = {v->source, text, strlen(text)};
    const char *kernels[8], *defines[32];
    struct kb_compile_request r = {.main = v->source,
                                   .files = &file,
                                   .file_count = 1,
                                   .arch = s->worker.device->info.arch,
                                   .compiler = "nvrtc",
                                   .lineinfo = true,
                                   .kernels = kernels,
                                   .defines = defines};
    for (int i = 0; i < v->launch_count && i < 8; i++)
        kernels[r.kernel_count++] = v->launches[i].kernel;
    for (int i = 0; i < v->define_count && i < 32; i++)
        defines[r.define_count++] = kb_format("%s=%s", v->defines[i].name, v->defines[i].value);
    if (kb_compile(&r, out, &error))
        speed_die("compile", &error);
    if (!out->ok)
        speed_die(out->reason, NULL);
    for (int i = 0; i < r.define_count; i++)
        free((char *)defines[i]);
}

static void add_image(cJSON *item, struct kb_text *blob, const struct kb_compiled *c)
{
    kb_json_set_number(item, "ptx_bytes", (double)c->ptx_size);
    kb_json_set_number(item, "cubin_bytes", (double)c->cubin_size);
    kb_text_bytes(blob, c->ptx, c->ptx_size);
    kb_text_bytes(blob, c->cubin, c->cubin_size);
}

void speed_serve(struct speed *s, void (*request)(struct run_worker *, const struct kb_frame *), cJSON *head,
                 const struct kb_text *blob)
{
    struct kb_frame f = {.head = head, .blob = blob ? blob->data : NULL, .blob_size = blob ? blob->size : 0};
    s->worker.started_us = kb_now_us();
    s->worker.frame = &f;
    request(&s->worker, &f);
    s->worker.frame = NULL;
    cJSON_Delete(head);
}

void speed_check(struct speed *s, const struct kb_compiled *c, const char *key)
{
    struct kb_text blob = {0};
    cJSON *check = kb_frame_head("check", 1);
    kb_json_set_text(check, "version", key);
    kb_json_set(check, "variant", kb_variant_to_json(s->variant));
    kb_json_set(check, "kernels", kernels_json(c));
    add_image(check, &blob, c);
    speed_serve(s, run_check, check, &blob);
    kb_text_free(&blob);
}

static char *source_of(const struct kb_bench *b, const char *name)
{
    struct kb_error error = {0};
    char *path = kb_path_join(b->dir, name), *text;
    size_t size;
    if (kb_file_read(path, 1 << 22, &text, &size, &error))
        speed_die("source", &error);
    free(path);
    return text;
}

static void prepare(struct speed *s)
{
    struct kb_error error = {0};
    struct kb_compiled reference, builtin;
    struct kb_text blob = {0};
    const struct kb_variant *program = &s->bench->reference.program;
    char *text = source_of(s->bench, program->source);
    speed_compile(s, program, text, &reference);
    struct kb_compile_request r = {.arch = s->worker.device->info.arch, .compiler = "nvrtc", .main = kb_builtin_main()};
    r.file_count = kb_builtin_files("element", &r.files, &error);
    if (!r.file_count || kb_builtin_compile(&r, &builtin, &error))
        speed_die("builtin", &error);
    cJSON *head = kb_frame_head("prepare", 1), *ref = cJSON_CreateObject(), *own = cJSON_CreateObject();
    kb_json_set(head, "bench", cJSON_Duplicate(s->bench->json, true));
    kb_json_set_text(head, "seed", "1");
    kb_json_set_number(head, "sets", 3);
    kb_json_set(ref, "kernels", kernels_json(&reference));
    add_image(ref, &blob, &reference);
    add_image(own, &blob, &builtin);
    kb_json_set(head, "reference", ref);
    kb_json_set(head, "builtin", own);
    speed_serve(s, run_prepare, head, &blob);
    if (!s->worker.has_data)
        speed_die("prepare failed", NULL);
    kb_text_free(&blob);
    kb_compiled_free(&reference);
    kb_compiled_free(&builtin);
    free(text);
}

void speed_open(struct speed *s, const char *program, const char *bench, const char *variant)
{
    struct kb_error error = {0};
    struct kb_device_request request = {.kind = "cuda"};
    struct kb_source source;
    kb_compile_keep_memory(); // as the compile worker does
    // The requests are made here; their answers go nowhere.
    int idle[2], sink = open("/dev/null", O_WRONLY | O_CLOEXEC);
    program_name = program;
    *s = (struct speed){.out = dup(1)};
    if (pipe(idle) || dup2(idle[0], 0) < 0 || dup2(sink, 3) < 0 || kb_worker_open(false, program, &error))
        speed_die("frames", &error);
    if (kb_bench_load(bench, &s->bench, &error) || kb_device_open(&request, &s->worker.device, &error) ||
        kb_peaks_for(&s->worker.device->info, &s->worker.peaks, &error))
        speed_die("open", &error);
    int index = kb_bench_find_variant(s->bench, variant);
    if (index < 0)
        speed_die("no such variant", NULL);
    s->text = source_of(s->bench, s->bench->variants[index].source);
    if (kb_source_scan(s->text, strlen(s->text), "source", &source, &error) ||
        kb_variant_resolve(s->bench, index, &source, &s->variant, &error))
        speed_die("variant", &error);
    kb_source_free(&source);
    prepare(s);
}

void speed_close(struct speed *s)
{
    struct run_worker *w = &s->worker;
    while (w->version_count)
        run_drop(w, &w->versions[0]);
    if (w->has_data)
        kb_data_close(&w->data);
    kb_frame_free(&w->prepared);
    kb_image_free(&w->builtin);
    free(w->files);
    w->device->ops->close(w->device);
    kb_variant_free(s->variant);
    kb_bench_free(s->bench);
    free(s->text);
}
