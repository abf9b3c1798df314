#include "support_cpu.h"

#include "base/json.h"
#include "base/memory.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The device library below kb_jit calls this; naming it here makes the linker take it from kb_jit, which it reads
// first.
int (*const cpu_launch_check)(struct kb_kernel *, const struct kb_device_ops *, const struct kb_device_info *,
                              const struct kb_launch_args *, struct kb_error *) = kb_launch_check;

typedef struct program *nvrtc_program;
static struct {
    int (*create)(nvrtc_program *, const char *, const char *, int, const char *const *, const char *const *);
    int (*compile)(nvrtc_program, int, const char *const *);
    int (*log_size)(nvrtc_program, size_t *);
    int (*log)(nvrtc_program, char *);
    int (*ptx_size)(nvrtc_program, size_t *);
    int (*ptx)(nvrtc_program, char *);
    int (*destroy)(nvrtc_program *);
    char include[600];
} nvrtc;

static void *open_nvrtc(void)
{
    const char *home = getenv("CUDA_HOME");
    char path[512];
    const char *folders[] = {"/usr/local/cuda", home};
    for (size_t i = 0; i < KB_COUNT(folders); i++) {
        if (!folders[i])
            continue;
        snprintf(path, sizeof path, "%s/lib64/libnvrtc.so.13", folders[i]);
        void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (lib) {
            snprintf(nvrtc.include, sizeof nvrtc.include, "-I%s/include", folders[i]);
            return lib;
        }
    }
    snprintf(nvrtc.include, sizeof nvrtc.include, "-I/usr/local/cuda/include");
    return dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL);
}

static bool load_nvrtc(void)
{
    static int state; // 1 loaded, -1 absent
    if (state)
        return state > 0;
    void *lib = open_nvrtc();
    state = -1;
    if (!lib)
        return false;
    const struct {
        const char *name;
        void *slot;
    } table[] = {
        {"nvrtcCreateProgram", &nvrtc.create},       {"nvrtcCompileProgram", &nvrtc.compile},
        {"nvrtcGetProgramLogSize", &nvrtc.log_size}, {"nvrtcGetProgramLog", &nvrtc.log},
        {"nvrtcGetPTXSize", &nvrtc.ptx_size},        {"nvrtcGetPTX", &nvrtc.ptx},
        {"nvrtcDestroyProgram", &nvrtc.destroy},
    };
    for (size_t i = 0; i < KB_COUNT(table); i++) {
        void *symbol = dlsym(lib, table[i].name);
        if (!symbol)
            return false;
        memcpy(table[i].slot, &symbol, sizeof symbol);
    }
    state = 1;
    return true;
}

char *cuda_to_ptx(const char *source, const char *extra)
{
    if (!load_nvrtc())
        return NULL;
    nvrtc_program p;
    const char *options[] = {"-arch=compute_90", "-lineinfo", "-default-device", nvrtc.include, extra};
    assert_int_equal(nvrtc.create(&p, source, "test.cu", 0, NULL, NULL), 0);
    int status = nvrtc.compile(p, extra ? 5 : 4, options);
    size_t size = 0;
    if (status) {
        nvrtc.log_size(p, &size);
        char *log = kb_alloc(size + 1);
        nvrtc.log(p, log);
        print_error("%s\n", log);
        free(log);
    }
    assert_int_equal(status, 0);
    nvrtc.ptx_size(p, &size);
    char *text = kb_alloc(size + 1);
    nvrtc.ptx(p, text);
    nvrtc.destroy(&p);
    return text;
}

void cpu_open(struct cpu *c, const char *check)
{
    *c = (struct cpu){0};
    struct kb_device_request request = {.kind = "cpu", .check = check};
    assert_int_equal(kb_device_open_cpu(&request, &c->device, &c->error), 0);
}

void cpu_close(struct cpu *c)
{
    for (int i = 0; i < c->buffer_count; i++)
        c->device->ops->free(c->device, &c->buffers[i]);
    if (c->module)
        c->device->ops->unload(c->device, c->module);
    c->device->ops->close(c->device);
}

void cpu_load(struct cpu *c, const char *ptx)
{
    if (c->module)
        c->device->ops->unload(c->device, c->module);
    c->module = NULL;
    if (c->device->ops->load(c->device, ptx, strlen(ptx), &c->module, &c->error))
        fail_msg("%s", kb_error_line(&c->error));
}

void cpu_load_cuda(struct cpu *c, const char *source)
{
    char *ptx = cuda_to_ptx(source, NULL);
    if (!ptx) {
        cpu_close(c);
        skip();
    }
    cpu_load(c, ptx);
    free(ptx);
}

void *cpu_buffer(struct cpu *c, const char *name, enum kb_dtype t, int64_t n, const void *from)
{
    size_t bytes = kb_dtype_bytes(t) * (size_t)n;
    struct kb_buffer_spec spec = {
        .bytes = bytes, .guard_bytes = 256, .name = name, .dtype = t, .ndim = 1, .shape = {n}};
    struct kb_buffer *b = &c->buffers[c->buffer_count++];
    assert_int_equal(c->device->ops->alloc(c->device, &spec, b, &c->error), 0);
    if (from)
        memcpy(b->host, from, bytes);
    else
        memset(b->host, 0, bytes);
    return b->host;
}

uint64_t cpu_address(const struct cpu *c, int buffer)
{
    return c->buffers[buffer].address;
}

int cpu_try_args(struct cpu *c, const char *kernel, const int64_t grid[3], const int64_t block[3], unsigned shared,
                 bool cooperative, int count, const void *const *args)
{
    struct kb_kernel *k;
    if (c->device->ops->symbol(c->module, kernel, &k, &c->error))
        return -1;
    struct kb_launch_args a = {.shared = shared, .cooperative = cooperative, .arg_count = count, .args = args};
    memcpy(a.grid, grid, sizeof a.grid);
    memcpy(a.block, block, sizeof a.block);
    if (c->device->ops->launch(k, &a, &c->error))
        return -1;
    return c->device->ops->sync(c->device, &c->error);
}

int cpu_try(struct cpu *c, const char *kernel, unsigned grid, unsigned block, unsigned shared, ...)
{
    const void *args[32];
    int n = 0;
    va_list list;
    va_start(list, shared);
    for (const void *p; (p = va_arg(list, const void *));)
        args[n++] = p;
    va_end(list);
    return cpu_try_args(c, kernel, (int64_t[3]){grid, 1, 1}, (int64_t[3]){block, 1, 1}, shared, false, n, args);
}

double cpu_fact(struct cpu *c, const char *path)
{
    cJSON *facts = c->device->ops->facts(c->device);
    assert_non_null(facts);
    const cJSON *at = facts;
    char copy[128];
    snprintf(copy, sizeof copy, "%s", path);
    for (char *save = NULL, *word = strtok_r(copy, ".", &save); word; word = strtok_r(NULL, ".", &save))
        at = kb_json_get(at, word);
    if (!cJSON_IsNumber(at))
        fail_msg("facts hold no number %s", path);
    double value = at->valuedouble;
    cJSON_Delete(facts);
    return value;
}

char *cpu_report(struct cpu *c, const char *kind, int *line)
{
    cJSON *facts = c->device->ops->facts(c->device);
    assert_non_null(facts);
    char *text = NULL;
    const cJSON *item;
    cJSON_ArrayForEach(item, kb_json_get(facts, "reports"))
    {
        if (text || strcmp(kb_json_text(item, "kind", ""), kind))
            continue;
        text = kb_strdup(kb_json_text(item, "text", ""));
        if (line)
            *line = (int)kb_json_int(item, "line", 0);
    }
    cJSON_Delete(facts);
    return text;
}

char *ptx_kernel(const char *body)
{
    return kb_format(".version 9.0\n.target sm_90\n.address_size 64\n"
                     ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc)\n{\n"
                     ".reg .b32 %%r<40>; .reg .b64 %%d<40>; .reg .f32 %%f<40>; .reg .f64 %%g<40>; .reg .b16 %%h<40>;\n"
                     ".reg .pred %%p<20>; .reg .b64 %%a, %%b, %%c, %%step; .reg .b32 %%lane;\n"
                     "ld.param.u64 %%a, [pa]; ld.param.u64 %%b, [pb]; ld.param.u64 %%c, [pc];\n"
                     "mov.u32 %%lane, %%tid.x; mul.wide.u32 %%step, %%lane, 8;\n"
                     "add.u64 %%a, %%a, %%step; add.u64 %%b, %%b, %%step; add.u64 %%c, %%c, %%step;\n%s\nret;\n}\n",
                     body);
}

void cpu_run_body(struct cpu *c, const char *body)
{
    char *text = ptx_kernel(body);
    cpu_load(c, text);
    free(text);
    uint64_t a[3] = {cpu_address(c, 0), cpu_address(c, 1), cpu_address(c, 2)};
    cpu_run(c, "k", 1, 32, 0, &a[0], &a[1], &a[2], NULL);
}
