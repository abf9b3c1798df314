// nvcc for what NVRTC does not take: a process of its own, once for the cubin and once for the PTX, side by side.
#include "jit/build.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/spawn.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NVCC_TIMEOUT_MS = 600000, NVCC_LOG_MAX = 8 << 20, IMAGE_MAX = 256 << 20 };

struct run { // one process of nvcc
    struct kb_words argv;
    struct kb_capture capture;
    struct kb_error error;
    int status;
};

static void prepare(const struct kb_build *b, const char *nvcc, const char *kind, const char *output, struct run *r)
{
    struct kb_words options = {0};
    kb_options_nvcc(b, &options);
    kb_words_add(&r->argv, kb_strdup(nvcc));
    kb_words_add(&r->argv, kb_strdup(kind));
    kb_words_add(&r->argv, kb_strdup("-Xptxas=-v"));
    kb_words_add(&r->argv, kb_strdup("-x"));
    kb_words_add(&r->argv, kb_strdup("cu"));
    for (int i = 0; i < options.count; i++)
        kb_words_add(&r->argv, kb_strdup(options.list[i]));
    kb_words_add(&r->argv, kb_path_join(b->tree.dir, b->request->main));
    kb_words_add(&r->argv, kb_strdup("-o"));
    kb_words_add(&r->argv, kb_path_join(b->tree.dir, output));
    kb_words_free(&options);
}

static void *run(void *argument)
{
    struct run *r = argument;
    r->status = kb_capture(r->argv.list, "/", NVCC_TIMEOUT_MS, NVCC_LOG_MAX, &r->capture, &r->error);
    return NULL;
}

static void free_run(struct run *r)
{
    kb_words_free(&r->argv);
    kb_capture_free(&r->capture);
}

static int read_image(const struct kb_build *b, const char *name, char **data, size_t *size)
{
    char *path = kb_path_join(b->tree.dir, name);
    int status = kb_file_read(path, IMAGE_MAX, data, size, NULL);
    free(path);
    return status;
}

// nvcc knows no name expressions. Plain names are looked for among the kernels that the program has anyway, instances
// of templates are asked for by taking their address in the main file's copy.
static char *match_name(const struct kb_compiled_kernel *all, int count, const char *requested)
{
    int best = 0, number = 0;
    const char *lowered = NULL;
    for (int i = 0; i < count; i++) {
        int fits = kb_name_fits(all[i].lowered, requested);
        number = fits > best ? 1 : number + (fits == best && fits > 0);
        if (fits > best) {
            best = fits;
            lowered = all[i].lowered;
        }
    }
    return number == 1 ? kb_strdup(lowered) : NULL;
}

static char **match_names(const struct kb_build *b)
{
    const struct kb_compile_request *r = b->request;
    struct kb_compiled_kernel *all;
    int count = kb_cubin_kernels(b->out->cubin, b->out->cubin_size, &all, NULL);
    char **lowered = kb_alloc(sizeof *lowered * (size_t)(r->kernel_count + 1));
    for (int i = 0; i < r->kernel_count; i++)
        lowered[i] = match_name(all, count, r->kernels[i]);
    for (int k = 0; k < count; k++) {
        free(all[k].name);
        free(all[k].lowered);
    }
    free(all);
    return lowered;
}

static int ask_for_instances(const struct kb_build *b, struct kb_error *e)
{
    const struct kb_compile_request *r = b->request;
    const struct kb_compile_file *f = kb_scan_file(r, r->main);
    struct kb_text lines = {0};
    for (int i = 0; i < r->kernel_count; i++)
        if (strchr(r->kernels[i], '<'))
            kb_text_addf(
                &lines,
                "\n#line %d \"%s\"\nstatic void *const kbench_instance_%d __attribute__((used)) = (void *)(%s);", i + 1,
                KB_NAME_LINES, i, r->kernels[i]);
    if (!lines.size)
        return 0;
    size_t size;
    char *text = kb_tree_marked(f->name, f->data, f->size, &size), *whole = kb_format("%s%s\n", text, lines.data);
    int status = kb_tree_replace(&b->tree, f->name, whole, strlen(whole), e);
    free(whole);
    free(text);
    kb_text_free(&lines);
    return status;
}

static void take_results(struct kb_build *b, const struct run *cubin, const struct run *ptx)
{
    struct kb_compiled *out = b->out;
    char *log = cubin->capture.err.data ? cubin->capture.err.data : "";
    free(out->log);
    out->log = kb_tree_hide(&b->tree, log);
    kb_verdict_messages(b, out->log, true);
    out->ok = cubin->capture.exit_code == 0 && ptx->capture.exit_code == 0 &&
              !read_image(b, KB_HOST_STUBS ".cubin", &out->cubin, &out->cubin_size) &&
              !read_image(b, KB_HOST_STUBS ".ptx", &out->ptx, &out->ptx_size);
    if (!out->ok) {
        bool late = cubin->capture.timed_out || ptx->capture.timed_out;
        char *text = late ? kb_format("nvcc had not finished after %d s", NVCC_TIMEOUT_MS / 1000)
                          : kb_format("nvcc failed with status %d: %.300s", cubin->capture.exit_code, out->log);
        kb_verdict_failed(b, text);
        free(text);
        return;
    }
    char **lowered = b->request->kernel_count ? match_names(b) : NULL;
    kb_kernels_fill(b, lowered);
    for (int i = 0; lowered && i < b->request->kernel_count; i++)
        free(lowered[i]);
    free(lowered);
}

static void take_version(struct kb_compiled *out, const char *ptx)
{
    const char *at = ptx ? strstr(ptx, "release ") : NULL; // "// Cuda compilation tools, release 13.0, V13.0.88"
    int n = at ? (int)strcspn(at + 8, ",\n") : 0;
    snprintf(out->compiler, sizeof out->compiler, "nvcc%s%.*s", n ? " " : "", n > 20 ? 20 : n, at ? at + 8 : "");
}

// nvcc starts its tools through a shell, and quotes neither of these.
static int check_words(const char *what, const char *const *words, int count, struct kb_error *e)
{
    for (int i = 0; i < count; i++)
        if (strpbrk(words[i], "$`"))
            return kb_fail(e, words[i], "write it without $ and `, or set \"compiler\": \"nvrtc\"",
                           "nvcc would give this %s to a shell", what);
    return 0;
}

int kb_nvcc_compile(struct kb_build *b, struct kb_error *e)
{
    const struct kb_compile_request *r = b->request;
    if (check_words("define", r->defines, r->define_count, e) ||
        check_words("option", r->options, r->option_count, e) ||
        check_words("folder", r->include_dirs, r->include_dir_count, e) || check_words("file", &r->main, 1, e))
        return -1;
    char *looked, *nvcc = kb_toolkit_tool(kb_toolkit_get(), "nvcc", &looked);
    if (!nvcc) {
        kb_fail(e, "nvcc", "install the CUDA toolkit, or set KBENCH_NVCC to it", "not found; looked in %.600s", looked);
        free(looked);
        return -1;
    }
    if (ask_for_instances(b, e)) {
        free(nvcc);
        return -1;
    }
    struct run cubin = {0}, ptx = {0};
    prepare(b, nvcc, "-cubin", KB_HOST_STUBS ".cubin", &cubin);
    prepare(b, nvcc, "-ptx", KB_HOST_STUBS ".ptx", &ptx);
    pthread_t other;
    bool beside = pthread_create(&other, NULL, run, &ptx) == 0;
    run(&cubin);
    if (beside)
        pthread_join(other, NULL);
    else
        run(&ptx);
    free(nvcc);
    int status = cubin.status || ptx.status ? -1 : 0;
    if (status && e)
        *e = cubin.status ? cubin.error : ptx.error;
    if (!status) {
        take_results(b, &cubin, &ptx);
        take_version(b->out, b->out->ptx);
    }
    free_run(&cubin);
    free_run(&ptx);
    return status;
}
