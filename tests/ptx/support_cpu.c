#include "support_cpu.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "jit/compile.h"

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
    char include[600], cccl[600];
} nvrtc;

// With its headers, as the programs find them: a toolkit's, or the wheels in .deps.
static void *open_nvrtc(void)
{
    const struct kb_toolkit *toolkit = kb_toolkit_get();
    void *lib = kb_toolkit_nvrtc(toolkit);
    const char *include = kb_toolkit_include(toolkit);
    snprintf(nvrtc.include, sizeof nvrtc.include, "-I%s", include ? include : "/");
    snprintf(nvrtc.cccl, sizeof nvrtc.cccl, "-I%s/cccl", include ? include : "");
    return lib;
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
    const char *options[] = {"-arch=compute_90", "-lineinfo", "-default-device", nvrtc.include, nvrtc.cccl, extra};
    assert_int_equal(nvrtc.create(&p, source, "test.cu", 0, NULL, NULL), 0);
    int status = nvrtc.compile(p, extra ? 6 : 5, options);
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
    cJSON_ArrayForEach (item, kb_json_get(facts, "reports")) {
        if (text || strcmp(kb_json_text(item, "kind", ""), kind))
            continue;
        text = kb_strdup(kb_json_text(item, "text", ""));
        if (line)
            *line = (int)kb_json_int(item, "line", 0);
    }
    cJSON_Delete(facts);
    return text;
}

static char *wrap(const char *statements, char result)
{
    static const struct {
        char kind;
        const char *text;
    } stores[] = {
        {'r', "cvt.u64.u32 %d31, %r9;"},
        {'d', "mov.b64 %d31, %d9;"},
        {'f', "mov.b32 %r31, %f9; cvt.u64.u32 %d31, %r31;"},
        {'g', "mov.b64 %d31, %g9;"},
        {'h', "cvt.u64.u16 %d31, %h9;"},
        {'p', "selp.u64 %d31, 1, 0, %p9;"},
    };
    const char *store = NULL;
    for (size_t i = 0; i < KB_COUNT(stores); i++)
        if (stores[i].kind == result)
            store = stores[i].text;
    assert_non_null(store);
    struct kb_text t = {0};
    kb_text_add(&t,
                ".version 9.0\n.target sm_90\n.address_size 64\n"
                ".visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3, .param .u32 pn)\n{\n"
                ".reg .b32 %r<40>; .reg .b64 %d<40>; .reg .f32 %f<40>; .reg .f64 %g<40>; .reg .b16 %h<40>;\n"
                ".reg .pred %p<20>;\n"
                "mov.u32 %r32, %ctaid.x; mov.u32 %r33, %ntid.x; mov.u32 %r34, %tid.x;\n"
                "mad.lo.s32 %r32, %r32, %r33, %r34; ld.param.u32 %r35, [pn]; setp.ge.s32 %p19, %r32, %r35;\n"
                "@%p19 ret;\nmul.wide.s32 %d36, %r32, 8;\n");
    for (int i = 0; i < 3; i++)
        kb_text_addf(
            &t,
            "ld.param.u64 %%d37, [p%d]; add.s64 %%d37, %%d37, %%d36; ld.global.u64 %%d%d, [%%d37];\n"
            "cvt.u32.u64 %%r%d, %%d%d; mov.b32 %%f%d, %%r%d; mov.b64 %%g%d, %%d%d; cvt.u16.u64 %%h%d, %%d%d;\n",
            i, i, i, i, i, i, i, i, i, i);
    kb_text_addf(
        &t, "%s\n%s\nld.param.u64 %%d37, [p3]; add.s64 %%d37, %%d37, %%d36; st.global.u64 [%%d37], %%d31;\nret;\n}\n",
        statements, store);
    return kb_text_take(&t);
}

void cpu_statements(struct cpu *c, const char *statements, char result, int n, const uint64_t *x, const uint64_t *y,
                    const uint64_t *z, uint64_t *out)
{
    char *text = wrap(statements, result);
    cpu_load(c, text);
    free(text);
    const uint64_t *from[] = {x, y, z, NULL};
    uint64_t at[4];
    int first = c->buffer_count;
    for (int i = 0; i < 4; i++) {
        cpu_buffer(c, "values", KB_I64, n, from[i]);
        at[i] = cpu_address(c, first + i);
    }
    cpu_run(c, "k", (unsigned)(n + 63) / 64, 64, 0, &at[0], &at[1], &at[2], &at[3], &n, NULL);
    memcpy(out, c->buffers[first + 3].host, (size_t)n * sizeof *out);
    while (c->buffer_count > first)
        c->device->ops->free(c->device, &c->buffers[--c->buffer_count]);
}
