// The floor under the loop: the same compile and the same list of device work as one save makes, in one bare process,
// with no pipes, no session, no watching. Prints {"first_ms": [...], "compile_ms": [...]}.
//
// usage: bench-floor BENCH VARIANT SAVES
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "bench/rungs.h"
#include "jit/compile.h"
#include "worker/builtin.h"
#include "worker/run.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void die(const char *what, const struct kb_error *e)
{
    fprintf(stderr, "bench-floor: %s: %s\n", what, e ? kb_error_line(e) : "");
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

static void compile(const struct kb_bench *b, const struct kb_variant *v, const char *text, const char *arch,
                    struct kb_compiled *out)
{
    struct kb_error error = {0};
    struct kb_compile_file file = {v->source, text, strlen(text)};
    const char *kernels[8], *defines[32];
    struct kb_compile_request r = {.main = v->source,
                                   .files = &file,
                                   .file_count = 1,
                                   .arch = arch,
                                   .compiler = "nvrtc",
                                   .lineinfo = true,
                                   .kernels = kernels,
                                   .defines = defines};
    for (int i = 0; i < v->launch_count && i < 8; i++)
        kernels[r.kernel_count++] = v->launches[i].kernel;
    for (int i = 0; i < v->define_count && i < 32; i++)
        defines[r.define_count++] = kb_format("%s=%s", v->defines[i].name, v->defines[i].value);
    (void)b;
    if (kb_compile(&r, out, &error))
        die("compile", &error);
    if (!out->ok)
        die(out->reason, NULL);
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

static void serve(struct run_worker *w, void (*request)(struct run_worker *, const struct kb_frame *), cJSON *head,
                  struct kb_text *blob)
{
    struct kb_frame f = {.head = head, .blob = blob ? blob->data : NULL, .blob_size = blob ? blob->size : 0};
    w->started_us = kb_now_us();
    request(w, &f);
    cJSON_Delete(head);
}

static char *source_of(const struct kb_bench *b, const char *name)
{
    struct kb_error error = {0};
    char *path = kb_path_join(b->dir, name), *text;
    size_t size;
    if (kb_file_read(path, 1 << 22, &text, &size, &error))
        die("source", &error);
    free(path);
    return text;
}

static void prepare(struct run_worker *w, const struct kb_bench *b, const char *arch)
{
    struct kb_error error = {0};
    struct kb_compiled reference, builtin;
    struct kb_text blob = {0};
    char *text = source_of(b, b->reference.program.source);
    compile(b, &b->reference.program, text, arch, &reference);
    struct kb_compile_request r = {.arch = arch, .compiler = "nvrtc", .main = kb_builtin_main()};
    r.file_count = kb_builtin_files("element", &r.files, &error);
    if (!r.file_count || kb_builtin_compile(&r, &builtin, &error))
        die("builtin", &error);
    cJSON *head = kb_frame_head("prepare", 1), *ref = cJSON_CreateObject(), *own = cJSON_CreateObject();
    kb_json_set(head, "bench", cJSON_Duplicate(b->json, true));
    kb_json_set_text(head, "seed", "1");
    kb_json_set_number(head, "sets", 3);
    kb_json_set(ref, "kernels", kernels_json(&reference));
    add_image(ref, &blob, &reference);
    add_image(own, &blob, &builtin);
    kb_json_set(head, "reference", ref);
    kb_json_set(head, "builtin", own);
    serve(w, run_prepare, head, &blob);
    if (!w->has_data)
        die("prepare failed", NULL);
    kb_text_free(&blob);
    kb_compiled_free(&reference);
    kb_compiled_free(&builtin);
    free(text);
}

// One save: what the loop does up to its first verdict. Returns the time of the compile, in ms.
static double one_save(struct run_worker *w, const struct kb_bench *b, const struct kb_variant *v, const char *text,
                       const char *arch, const char *key)
{
    struct kb_compiled c;
    int64_t begun = kb_now_us();
    compile(b, v, text, arch, &c);
    double took = (double)(kb_now_us() - begun) / 1000;
    struct kb_text blob = {0};
    cJSON *check = kb_frame_head("check", 1);
    kb_json_set_text(check, "version", key);
    kb_json_set(check, "variant", kb_variant_to_json(v));
    kb_json_set(check, "kernels", kernels_json(&c));
    add_image(check, &blob, &c);
    serve(w, run_check, check, &blob);
    cJSON *run = kb_frame_head("run", 1), *verify = kb_frame_head("verify", 1), *timing = kb_frame_head("time", 1);
    kb_json_set_text(run, "version", key);
    serve(w, run_run, run, NULL);
    kb_json_set_text(verify, "version", key);
    serve(w, run_verify, verify, NULL);
    kb_json_set_text(timing, "version", key);
    kb_json_set(timing, "against", cJSON_CreateArray());
    kb_json_set(timing, "cases", cJSON_CreateArray());
    kb_json_set_number(timing, "budget_ms", KB_FIRST_BUDGET_MS);
    kb_json_set_text(timing, "stage", "first");
    serve(w, run_time, timing, NULL);
    kb_text_free(&blob);
    kb_compiled_free(&c);
    return took;
}

static void add_number(cJSON *list, double value)
{
    cJSON_AddItemToArray(list, cJSON_CreateNumber(value));
}

int main(int argc, char **argv)
{
    struct kb_error error = {0};
    struct kb_bench *b;
    if (argc != 4) {
        fprintf(stderr, "usage: bench-floor BENCH VARIANT SAVES\n");
        return 2;
    }
    // The requests are made here; their answers go nowhere.
    int idle[2], sink = open("/dev/null", O_WRONLY | O_CLOEXEC), out = dup(1);
    if (pipe(idle) || dup2(idle[0], 0) < 0 || dup2(sink, 3) < 0 || kb_worker_open(false, "floor", &error))
        die("frames", &error);
    struct run_worker w = {0};
    struct kb_device_request request = {.kind = "cuda"};
    if (kb_bench_load(argv[1], &b, &error) || kb_device_open(&request, &w.device, &error) ||
        kb_peaks_for(&w.device->info, &w.peaks, &error))
        die("open", &error);
    struct kb_variant *v;
    struct kb_source source;
    int index = kb_bench_find_variant(b, argv[2]);
    if (index < 0)
        die("no such variant", NULL);
    char *text = source_of(b, b->variants[index].source);
    if (kb_source_scan(text, strlen(text), "source", &source, &error) ||
        kb_variant_resolve(b, index, &source, &v, &error))
        die("variant", &error);
    const char *arch = w.device->info.arch;
    prepare(&w, b, arch);
    cJSON *record = cJSON_CreateObject(), *first = cJSON_AddArrayToObject(record, "first_ms"),
          *compiles = cJSON_AddArrayToObject(record, "compile_ms");
    int saves = atoi(argv[3]);
    for (int i = -2; i < saves; i++) { // two to warm up
        char *edited = kb_format("%s\n// save %d\n", text, i), *key = kb_format("k%d", i);
        int64_t begun = kb_now_us();
        double compiling = one_save(&w, b, v, edited, arch, key);
        double whole = (double)(kb_now_us() - begun) / 1000;
        struct kb_frame idling = {.head = kb_frame_head("idle", 2)};
        run_idle(&w, &idling); // as the loop does between saves
        kb_frame_free(&idling);
        if (i >= 0) {
            add_number(first, whole);
            add_number(compiles, compiling);
        }
        free(edited);
        free(key);
    }
    char *line = kb_json_line(record);
    dprintf(out, "%s\n", line);
    return 0;
}
