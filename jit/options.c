#include "jit/build.h"

#include "base/file.h"
#include "base/memory.h"
#include "bench/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void kb_words_add(struct kb_words *w, char *owned)
{
    w->list = kb_realloc(w->list, sizeof *w->list * (size_t)(w->count + 2));
    w->list[w->count++] = owned;
    w->list[w->count] = NULL;
}

void kb_words_free(struct kb_words *w)
{
    for (int i = 0; i < w->count; i++)
        free(w->list[i]);
    free(w->list);
    *w = (struct kb_words){0};
}

// Precompiled headers go stale inside one process (a changed header is never noticed); unoptimised code says nothing
// about a kernel's speed; the others are set by the tool.
static const struct {
    const char *option;
    bool prefix;
    const char *why;
} refused[] = {
    {"-pch", true, "precompiled headers miss changes of headers while the compiler process lives"},
    {"--pch", true, "precompiled headers miss changes of headers while the compiler process lives"},
    {"-create-pch", true, "precompiled headers miss changes of headers while the compiler process lives"},
    {"--create-pch", true, "precompiled headers miss changes of headers while the compiler process lives"},
    {"-use-pch", true, "precompiled headers miss changes of headers while the compiler process lives"},
    {"--use-pch", true, "precompiled headers miss changes of headers while the compiler process lives"},
    {"-fdevice-time-trace", true, "NVRTC crashes when a second program of a process is traced"},
    {"--fdevice-time-trace", true, "NVRTC crashes when a second program of a process is traced"},
    {"-G", false, "it turns the optimiser off, and such code is not worth measuring; lines come without it"},
    {"--device-debug", false, "it turns the optimiser off, and such code is not worth measuring"},
    {"-arch", true, "the architecture is chosen with --arch"},
    {"--gpu-architecture", true, "the architecture is chosen with --arch"},
};

int kb_options_check(const struct kb_compile_request *r, struct kb_error *e)
{
    for (int i = 0; i < r->option_count; i++)
        for (size_t k = 0; k < KB_COUNT(refused); k++) {
            const char *o = r->options[i];
            if (refused[k].prefix ? kb_starts(o, refused[k].option) : !strcmp(o, refused[k].option))
                return kb_fail(e, o, "remove it from the options", "option refused: %s", refused[k].why);
        }
    const char *why, *asking = r->options_allowed ? NULL : kb_options_asking(r->options, r->option_count, &why);
    if (asking)
        return kb_fail(e, asking, KB_OPTION_REMEDY, "option not allowed: %s", why);
    return 0;
}

static void add_paths_and_defines(const struct kb_build *b, struct kb_words *out)
{
    const struct kb_compile_request *r = b->request;
    for (int i = 0; i < r->include_dir_count; i++)
        kb_words_add(out, kb_format("-I%s/%s", b->tree.dir, r->include_dirs[i]));
    for (int i = 0; i < r->define_count; i++)
        kb_words_add(out, kb_format("-D%s", r->defines[i]));
    if (r->traced) {
        kb_words_add(out, kb_strdup("-DKB_SECTION_TRACED"));
        kb_words_add(out, kb_format("-include=%s/" KB_SECTION_FOLDER "/" KB_SECTION_HEADER, b->tree.dir));
    }
}

// One compiler's own words, which say to it what the other does anyway or in another way: the other does not get them.
static const char *const nvcc_only[] = {"expt-relaxed-constexpr", "extended-lambda", "expt-extended-lambda"};
static const char *const nvrtc_only[] = {"device-as-default-execution-space", "default-device"};

static void add_request_options(const struct kb_compile_request *r, const char *const *others, size_t count,
                                struct kb_words *out)
{
    bool automatic = !r->compiler || !strcmp(r->compiler, "auto");
    for (int i = 0; i < r->option_count; i++) {
        const char *name = r->options[i] + strspn(r->options[i], "-");
        bool skip = false;
        for (size_t k = 0; automatic && k < count; k++)
            skip = skip || !strcmp(name, others[k]);
        if (!skip)
            kb_words_add(out, kb_strdup(r->options[i]));
    }
}

void kb_options_nvrtc(const struct kb_build *b, struct kb_words *out)
{
    const struct kb_compile_request *r = b->request;
    kb_words_add(out, kb_format("-arch=%s", b->arch));
    if (r->lineinfo)
        kb_words_add(out, kb_strdup("-lineinfo"));
    kb_words_add(out, kb_strdup("--ptxas-options=-v"));
    add_paths_and_defines(b, out);
    const char *include = kb_toolkit_include(kb_toolkit_get()); // never /usr/include: glibc is no device code
    if (include) {
        kb_words_add(out, kb_format("-I%s", include));
        kb_words_add(out, kb_format("-I%s/cccl", include)); // where CUDA 13 keeps <cuda/std/...>
    }
    add_request_options(r, nvcc_only, KB_COUNT(nvcc_only), out);
}

void kb_options_nvcc(const struct kb_build *b, struct kb_words *out)
{
    const struct kb_compile_request *r = b->request;
    kb_words_add(out, kb_format("-arch=%s", b->arch));
    if (r->lineinfo)
        kb_words_add(out, kb_strdup("-lineinfo"));
    add_paths_and_defines(b, out);
    add_request_options(r, nvrtc_only, KB_COUNT(nvrtc_only), out);
}

char *kb_arch_objection(const char *arch)
{
    const int *known;
    int n = kb_nvrtc_archs(&known), wanted = 0;
    if (kb_starts(arch, "compute_"))
        return kb_format("%s is a virtual architecture, for which NVRTC makes no cubin; ask for sm_%s", arch, arch + 8);
    if (!n || sscanf(arch, "sm_%d", &wanted) != 1)
        return kb_format("\"%s\" is no architecture; write it as sm_90", arch);
    for (int i = 0; i < n; i++)
        if (known[i] == wanted)
            return kb_strdup("");
    return kb_format("this NVRTC (%s, version %s) knows %d..%d, asked for %d", kb_nvrtc_path(), kb_nvrtc_version(),
                     known[0], known[n - 1], wanted);
}

cJSON *kb_toolkit_archs(const struct kb_toolkit *t)
{
    (void)t;
    const int *known;
    int n = kb_nvrtc_archs(&known);
    if (!n)
        return NULL;
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "sm_%d", known[i]);
        cJSON_AddItemToArray(list, cJSON_CreateString(name));
    }
    return list;
}
