#include "jit/nvrtc.h"
#include "jit/compile.h"

#include "base/memory.h"

#include <dlfcn.h>
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct api {
    bool usable;
    bool quick; // it knows -no-cache and -minimal
    char path[512], version[16], missing[256];
    int archs[64], arch_count;
    __typeof__(&nvrtcVersion) ask_version;
    __typeof__(&nvrtcGetErrorString) word;
    __typeof__(&nvrtcGetNumSupportedArchs) arch_number;
    __typeof__(&nvrtcGetSupportedArchs) arch_list;
    __typeof__(&nvrtcCreateProgram) create;
    __typeof__(&nvrtcDestroyProgram) destroy;
    __typeof__(&nvrtcCompileProgram) compile;
    __typeof__(&nvrtcGetPTXSize) ptx_size;
    __typeof__(&nvrtcGetPTX) ptx;
    __typeof__(&nvrtcGetCUBINSize) cubin_size;
    __typeof__(&nvrtcGetCUBIN) cubin;
    __typeof__(&nvrtcGetProgramLogSize) log_size;
    __typeof__(&nvrtcGetProgramLog) log;
    __typeof__(&nvrtcAddNameExpression) add_name;
    __typeof__(&nvrtcGetLoweredName) lowered;
};

static void load_symbols(struct api *a, void *handle)
{
    const struct {
        const char *name;
        void *slot;
    } table[] = {
        {"nvrtcVersion", &a->ask_version},
        {"nvrtcGetErrorString", &a->word},
        {"nvrtcGetNumSupportedArchs", &a->arch_number},
        {"nvrtcGetSupportedArchs", &a->arch_list},
        {"nvrtcCreateProgram", &a->create},
        {"nvrtcDestroyProgram", &a->destroy},
        {"nvrtcCompileProgram", &a->compile},
        {"nvrtcGetPTXSize", &a->ptx_size},
        {"nvrtcGetPTX", &a->ptx},
        {"nvrtcGetCUBINSize", &a->cubin_size},
        {"nvrtcGetCUBIN", &a->cubin},
        {"nvrtcGetProgramLogSize", &a->log_size},
        {"nvrtcGetProgramLog", &a->log},
        {"nvrtcAddNameExpression", &a->add_name},
        {"nvrtcGetLoweredName", &a->lowered},
    };
    a->usable = true;
    for (size_t i = 0; i < KB_COUNT(table); i++) {
        void *symbol = dlsym(handle, table[i].name);
        memcpy(table[i].slot, &symbol, sizeof symbol);
        if (!symbol && a->usable)
            snprintf(a->missing, sizeof a->missing, "it has no %s", table[i].name);
        a->usable = a->usable && symbol;
    }
}

static const struct api *api(struct kb_error *e)
{
    static struct api a;
    if (a.usable)
        return &a;
    void *handle = kb_toolkit_open("nvrtc", a.path, sizeof a.path, e);
    if (!handle)
        return NULL;
    load_symbols(&a, handle);
    if (!a.usable) {
        kb_fail(e, a.path, "NVRTC 11.2 or newer is needed", "this NVRTC is too old: %s", a.missing);
        return NULL;
    }
    int major = 0, minor = 0, n = 0;
    a.ask_version(&major, &minor);
    snprintf(a.version, sizeof a.version, "%d.%d", major, minor);
    a.quick = major >= 13;
    if (a.arch_number(&n) == NVRTC_SUCCESS && n <= (int)KB_COUNT(a.archs) && a.arch_list(a.archs) == NVRTC_SUCCESS)
        a.arch_count = n;
    return &a;
}

const char *kb_nvrtc_version(void)
{
    const struct api *a = api(NULL);
    return a ? a->version : NULL;
}

const char *kb_nvrtc_path(void)
{
    const struct api *a = api(NULL);
    return a ? a->path : "";
}

int kb_nvrtc_archs(const int **archs)
{
    const struct api *a = api(NULL);
    *archs = a ? a->archs : NULL;
    return a ? a->arch_count : 0;
}

static void fetch_log(const struct api *a, nvrtcProgram program, struct kb_nvrtc_result *r)
{
    size_t n = 0;
    if (a->log_size(program, &n) != NVRTC_SUCCESS)
        n = 0;
    r->log = kb_alloc(n + 1);
    if (n && a->log(program, r->log) != NVRTC_SUCCESS)
        r->log[0] = 0;
}

static void fetch_images(const struct api *a, nvrtcProgram program, struct kb_nvrtc_result *r)
{
    size_t n = 0;
    if (a->ptx_size(program, &n) == NVRTC_SUCCESS && n > 1) { // size 1 is the NUL of no text
        r->ptx = kb_alloc(n + 1);
        if (a->ptx(program, r->ptx) == NVRTC_SUCCESS)
            r->ptx_size = strnlen(r->ptx, n);
    }
    n = 0;
    if (a->cubin_size(program, &n) == NVRTC_SUCCESS && n) {
        r->cubin = kb_alloc(n);
        r->cubin_size = a->cubin(program, r->cubin) == NVRTC_SUCCESS ? n : 0;
    }
}

static void fetch_names(const struct api *a, nvrtcProgram program, const struct kb_nvrtc_job *job,
                        struct kb_nvrtc_result *r)
{
    r->lowered = kb_alloc(sizeof *r->lowered * (size_t)(job->name_count + 1));
    r->lowered_count = job->name_count;
    const char *name;
    for (int i = 0; r->ok && i < job->name_count; i++)
        if (a->lowered(program, job->names[i], &name) == NVRTC_SUCCESS)
            r->lowered[i] = kb_strdup(name);
}

static int compile(const struct api *a, const struct kb_nvrtc_job *job, const char *const *options, int option_count,
                   struct kb_nvrtc_result *r, struct kb_error *e)
{
    nvrtcProgram program;
    nvrtcResult code = a->create(&program, job->source, job->name, 0, NULL, NULL);
    if (code != NVRTC_SUCCESS)
        return kb_fail(e, a->path, NULL, "NVRTC could not start a program: %s", a->word(code));
    for (int i = 0; code == NVRTC_SUCCESS && i < job->name_count; i++)
        code = a->add_name(program, job->names[i]);
    if (code == NVRTC_SUCCESS)
        code = a->compile(program, option_count, options);
    r->ok = code == NVRTC_SUCCESS;
    r->invalid_option = code == NVRTC_ERROR_INVALID_OPTION;
    snprintf(r->status, sizeof r->status, "%s", a->word(code));
    fetch_log(a, program, r);
    if (r->ok)
        fetch_images(a, program, r);
    fetch_names(a, program, job, r);
    a->destroy(&program);
    return 0;
}

int kb_nvrtc_compile(const struct kb_nvrtc_job *job, struct kb_nvrtc_result *r, struct kb_error *e)
{
    *r = (struct kb_nvrtc_result){0};
    const struct api *a = api(e);
    if (!a)
        return -1;
    int n = job->option_count;
    const char **options = kb_alloc((size_t)(n + 2) * sizeof *options);
    for (int i = 0; i < n; i++)
        options[i] = job->options[i];
    if (a->quick)
        options[n++] = "-no-cache";
    options[n] = "-minimal";
    int status = compile(a, job, options, n + a->quick, r, e);
    if (!status && !r->ok && a->quick) { // for what was left out, if it failed for that, then within some milliseconds
        kb_nvrtc_result_free(r);
        status = compile(a, job, options, n, r, e);
    }
    free(options);
    return status;
}

void kb_nvrtc_result_free(struct kb_nvrtc_result *r)
{
    for (int i = 0; i < r->lowered_count; i++)
        free(r->lowered[i]);
    free(r->lowered);
    free(r->log);
    free(r->ptx);
    free(r->cubin);
    *r = (struct kb_nvrtc_result){0};
}
