#include "jit/compile.h"
#include "jit/build.h"

#include "base/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A line break in a define or a name would smuggle lines of its own into the program.
static int check_texts(const char *what, const char *const *texts, int count, struct kb_error *e)
{
    for (int i = 0; i < count; i++)
        for (const char *p = texts[i]; *p; p++)
            if ((unsigned char)*p < 0x20 || *p == 0x7f)
                return kb_fail(e, what, "write it in one line", "a control character (0x%02x) in number %d",
                               (unsigned char)*p, i + 1);
    return 0;
}

static int check_request(const struct kb_compile_request *r, struct kb_error *e)
{
    static const char *const compilers[] = {"auto", "nvrtc", "nvcc"};
    if (!r->main || !kb_scan_file(r, r->main))
        return kb_fail(e, r->main, NULL, "the main file is not among the %d files of the request", r->file_count);
    if (check_texts("kernels", r->kernels, r->kernel_count, e) ||
        check_texts("defines", r->defines, r->define_count, e) ||
        check_texts("options", r->options, r->option_count, e))
        return -1;
    for (size_t i = 0; i < KB_COUNT(compilers); i++)
        if (!r->compiler || !strcmp(r->compiler, compilers[i]))
            return kb_options_check(r, e);
    return kb_fail(e, r->compiler, "use auto, nvrtc or nvcc", "no such compiler");
}

static void choose_arch(struct kb_build *b)
{
    const int *known;
    int n = kb_nvrtc_archs(&known);
    if (b->request->arch)
        snprintf(b->arch, sizeof b->arch, "%.15s", b->request->arch);
    else
        snprintf(b->arch, sizeof b->arch, "sm_%d", n ? known[n - 1] : 90);
    snprintf(b->out->arch, sizeof b->out->arch, "%s", b->arch);
}

static void take_images(struct kb_compiled *out, struct kb_nvrtc_result *r)
{
    out->ptx = r->ptx;
    out->ptx_size = r->ptx_size;
    out->cubin = r->cubin;
    out->cubin_size = r->cubin_size;
    r->ptx = r->cubin = NULL;
}

int kb_build_nvrtc(struct kb_build *b, const char *source, const struct kb_words *options, struct kb_error *e)
{
    const struct kb_compile_request *r = b->request;
    char *name = kb_format("%s/%s", b->tree.dir, r->main); // its folder is where "h.h" is looked for
    struct kb_nvrtc_job job = {.source = source,
                               .name = name,
                               .options = (const char *const *)options->list,
                               .option_count = options->count,
                               .names = r->kernels,
                               .name_count = r->kernel_count};
    struct kb_nvrtc_result result;
    int status = kb_nvrtc_compile(&job, &result, e);
    free(name);
    if (status)
        return -1;
    snprintf(b->out->compiler, sizeof b->out->compiler, "nvrtc %s", kb_nvrtc_version());
    kb_verdict_nvrtc(b, &result);
    if (b->out->ok) {
        take_images(b->out, &result);
        kb_kernels_fill(b, r->kernel_count ? result.lowered : NULL);
    }
    kb_nvrtc_result_free(&result);
    return 0;
}

// The main file as it is.
static int compile_plain(struct kb_build *b, struct kb_error *e)
{
    const struct kb_compile_file *f = kb_scan_file(b->request, b->request->main);
    struct kb_words options = {0};
    size_t size;
    char *source = kb_tree_marked(f->name, f->data, f->size, &size);
    kb_options_nvrtc(b, &options);
    int status = kb_build_nvrtc(b, source, &options, e);
    kb_words_free(&options);
    free(source);
    return status;
}

static int compile_nvcc(struct kb_build *b, struct kb_error *e)
{
    if (kb_nvcc_compile(b, e))
        return -1;
    kb_verdict_note(b->out, kb_strdup("compiled by nvcc"));
    return 0;
}

static int try_stage(struct kb_build *b, int (*stage)(struct kb_build *, struct kb_error *), struct kb_compiled *result,
                     struct kb_error *e)
{
    struct kb_compiled *kept = b->out;
    *result = (struct kb_compiled){.log = kb_strdup("")};
    snprintf(result->arch, sizeof result->arch, "%s", b->arch);
    b->out = result;
    int status = stage(b, e);
    b->out = kept;
    return status;
}

// The later stage's result takes the place of what is in b->out; notes add up.
static void prefer(struct kb_build *b, struct kb_compiled *later)
{
    for (int i = 0; i < b->out->note_count; i++)
        kb_verdict_note(later, kb_strdup(b->out->notes[i]));
    kb_compiled_free(b->out);
    *b->out = *later;
}

// nvcc, which has no stand-ins, stopped where a header of the host's is missing, or for want of a host compiler: it has
// not looked at the kernels.
static bool stopped_early(const struct kb_compiled *c)
{
    bool placed = false;
    for (int i = 0; i < c->message_count; i++) {
        const struct kb_compile_message *m = &c->messages[i];
        if (strstr(m->text, "No such file or directory") || strstr(m->text, "open source file"))
            return true;
        placed = placed || (!strcmp(m->severity, "error") && m->line > 0);
    }
    return !placed;
}

// What NVRTC got as far as says more than where nvcc stopped, unless it is about a namespace of the header that a
// stand-in stood in for, or stopped at a header itself.
static bool says_more(const struct kb_compiled *nvrtc)
{
    for (int i = 0; i < nvrtc->message_count; i++) {
        const struct kb_compile_message *m = &nvrtc->messages[i];
        if (strcmp(m->severity, "error"))
            continue;
        return m->line > 0 && !strstr(m->text, "must be a class or namespace") && !strstr(m->text, "open source file");
    }
    return false;
}

// nvcc's errors behind those in b->out.
static void add_errors(struct kb_build *b, const struct kb_compiled *nvcc)
{
    for (int i = 0; i < nvcc->message_count; i++) {
        const struct kb_compile_message *m = &nvcc->messages[i];
        char *text = kb_format("nvcc: %s", m->text);
        if (!strcmp(m->severity, "error"))
            kb_verdict_add(b->out, m->file, m->line, text);
        free(text);
    }
    kb_verdict_failed(b, b->out->reason);
}

// nvcc behind NVRTC's failure, if it is there.
static void try_nvcc(struct kb_build *b)
{
    struct kb_compiled later;
    struct kb_error missing;
    if (try_stage(b, compile_nvcc, &later, &missing)) {
        kb_verdict_note(b->out, kb_format("nvcc might take this source: %s", kb_error_line(&missing)));
        kb_compiled_free(&later);
    } else if (later.ok || !stopped_early(&later) || !says_more(b->out)) {
        prefer(b, &later);
    } else {
        add_errors(b, &later);
        kb_compiled_free(&later);
    }
}

// Sources written for nvcc: NVRTC with the host's part taken out, then nvcc itself.
static int compile_host_code(struct kb_build *b, bool nvcc, struct kb_error *e)
{
    struct kb_compiled later;
    if (!kb_host_worth_it(b))
        return 0;
    if (try_stage(b, kb_host_compile, &later, e)) {
        kb_compiled_free(&later);
        return -1;
    }
    if (later.ok || kb_host_better(b->out, &later))
        prefer(b, &later);
    else
        kb_compiled_free(&later);
    if (!b->out->ok && nvcc)
        try_nvcc(b);
    return 0;
}

static int compile_by_stages(struct kb_build *b, struct kb_error *e)
{
    const char *compiler = b->request->compiler ? b->request->compiler : "auto";
    bool automatic = !strcmp(compiler, "auto");
    if (kb_ends(b->request->main, ".ptx"))
        return kb_ptx_compile(b, e);
    if (!strcmp(compiler, "nvcc"))
        return compile_nvcc(b, e);
    if (compile_plain(b, e)) {
        struct kb_error missing;
        return automatic && !compile_nvcc(b, &missing) ? 0 : -1;
    }
    return b->out->ok ? 0 : compile_host_code(b, automatic, e);
}

// Relative names in line tables get the working folder in front, so all compiles run in "/".
static int compile_in_root(struct kb_build *b, struct kb_error *e)
{
    int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct kb_includes *watch = kb_includes_watch(b);
    int status = chdir("/") ? kb_fail(e, "/", NULL, "cannot enter the folder") : compile_by_stages(b, e);
    kb_includes_take(watch, b);
    if (here >= 0) {
        if (fchdir(here) && !status)
            status = kb_fail(e, ".", NULL, "cannot go back to the working folder");
        close(here);
    }
    return status;
}

static int compile(const struct kb_compile_request *r, struct kb_compiled *out, struct kb_error *e)
{
    if (check_request(r, e))
        return -1;
    struct kb_build b = {.request = r, .out = out};
    kb_scan_request(r, &b.scan);
    for (int i = 0; i < b.scan.note_count; i++)
        kb_verdict_note(out, kb_strdup(b.scan.notes[i]));
    int status = 0;
    out->log = kb_strdup("");
    if (!b.scan.ok) {
        kb_verdict_failed(&b, b.scan.reason);
    } else if (!(status = kb_tree_open(&b.tree, r, e))) {
        choose_arch(&b);
        status = compile_in_root(&b, e);
        kb_tree_close(&b.tree);
    }
    kb_scan_free(&b.scan);
    if (status)
        kb_compiled_free(out);
    return status;
}

int kb_compile(const struct kb_compile_request *r, struct kb_compiled *out, struct kb_error *e)
{
    struct kb_compile_request extended;
    *out = (struct kb_compiled){0};
    if (!kb_section_header_add(r, &extended))
        return compile(r, out, e);
    int status = compile(&extended, out, e);
    kb_section_header_free(&extended);
    return status;
}

static void free_texts(char **list, int count)
{
    for (int i = 0; i < count; i++)
        free(list[i]);
    free(list);
}

void kb_compiled_free(struct kb_compiled *c)
{
    for (int i = 0; i < c->kernel_count; i++) {
        free(c->kernels[i].name);
        free(c->kernels[i].lowered);
    }
    for (int i = 0; i < c->message_count; i++) {
        free(c->messages[i].file);
        free(c->messages[i].text);
    }
    free(c->kernels);
    free(c->messages);
    free_texts(c->notes, c->note_count);
    free_texts(c->includes, c->include_count);
    free(c->ptx);
    free(c->cubin);
    free(c->log);
    *c = (struct kb_compiled){0};
}
