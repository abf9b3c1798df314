#include "verify/support_device.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct toy_device {
    struct kb_device device;
    const struct toy_entry *entries;
};
struct kb_kernel {
    const struct toy_entry *entry;
    struct kb_device *device;
};
struct kb_module {
    struct kb_device *device;
    struct kb_kernel kernels[64];
    int count;
};
size_t toy_free_bytes = (size_t)1 << 30;
int toy_live;
size_t toy_undefined;
struct kb_module_memory toy_variables;

static int toy_alloc(struct kb_device *d, const struct kb_buffer_spec *s, struct kb_buffer *b, struct kb_error *e)
{
    (void)d, (void)e;
    char *memory = NULL;
    size_t before = (s->guard_bytes + 255) / 256 * 256;
    b->total = before + s->bytes + s->guard_bytes;
    if (posix_memalign((void **)&memory, 256, b->total + 1))
        abort();
    b->base = (uint64_t)(uintptr_t)memory;
    b->address = b->base + before;
    b->host = memory + before;
    b->bytes = s->bytes;
    b->guard_bytes = s->guard_bytes;
    toy_live++;
    return 0;
}
static void toy_free(struct kb_device *d, struct kb_buffer *b)
{
    (void)d;
    free((void *)(uintptr_t)b->base);
    *b = (struct kb_buffer){0};
    toy_live--;
}
static int toy_memory(struct kb_device *d, size_t *free_bytes, size_t *total, struct kb_error *e)
{
    (void)d, (void)e;
    *free_bytes = *total = toy_free_bytes;
    return 0;
}
static int toy_to_device(struct kb_device *d, uint64_t to, const void *from, size_t n, struct kb_error *e)
{
    (void)d, (void)e;
    memcpy((void *)(uintptr_t)to, from, n);
    return 0;
}
static int toy_to_host(struct kb_device *d, void *to, uint64_t from, size_t n, struct kb_error *e)
{
    (void)d, (void)e;
    memcpy(to, (const void *)(uintptr_t)from, n);
    return 0;
}
static int toy_copy(struct kb_device *d, uint64_t to, uint64_t from, size_t n, struct kb_error *e)
{
    return toy_to_device(d, to, (const void *)(uintptr_t)from, n, e);
}
static int toy_fill(struct kb_device *d, uint64_t to, uint8_t byte, size_t n, struct kb_error *e)
{
    (void)d, (void)e;
    memset((void *)(uintptr_t)to, byte, n);
    return 0;
}
static int toy_undefine(struct kb_device *d, uint64_t address, size_t n, struct kb_error *e)
{
    (void)d, (void)address, (void)e;
    toy_undefined += n;
    return 0;
}
static int toy_load(struct kb_device *d, const void *image, size_t n, struct kb_module **m, struct kb_error *e)
{
    (void)image, (void)n, (void)e;
    *m = kb_alloc(sizeof **m);
    (*m)->device = d;
    return 0;
}
static void toy_unload(struct kb_device *d, struct kb_module *m)
{
    (void)d;
    free(m);
}
static int toy_symbol(struct kb_module *m, const char *name, struct kb_kernel **k, struct kb_error *e)
{
    for (const struct toy_entry *t = ((struct toy_device *)m->device)->entries; t->name; t++)
        if (!strcmp(t->name, name)) {
            *k = &m->kernels[m->count++];
            **k = (struct kb_kernel){t, m->device};
            return 0;
        }
    return kb_fail(e, name, NULL, "no such kernel");
}
int toy_stop_at;
static int toy_launch(struct kb_kernel *k, const struct kb_launch_args *a, struct kb_error *e)
{
    if (toy_stop_at && !--toy_stop_at) {
        k->device->stopped = true;
        return kb_fail(e, k->entry->name, NULL, "the launch was stopped");
    }
    if (k->entry->run) {
        k->entry->run((void *const *)a->args);
        return 0;
    }
    k->device->fault.kind = KB_FAULT_POISONED;
    return kb_fail(e, k->entry->name, NULL, "an illegal memory access");
}
static int toy_sync(struct kb_device *d, struct kb_error *e)
{
    (void)d, (void)e;
    return 0;
}
static void toy_close(struct kb_device *d)
{
    free(d);
}

static void toy_info(const struct kb_kernel *k, struct kb_kernel_info *i)
{
    *i = (struct kb_kernel_info){.param_count = -1, .max_threads = 1024, .max_dynamic_shared = 232448};
    snprintf(i->name, sizeof i->name, "%s", k->entry->name);
}

static const struct kb_module_memory *toy_memory_of(struct kb_module *m, int *count, bool *whole)
{
    (void)m;
    *count = toy_variables.bytes > 0;
    *whole = true;
    return &toy_variables;
}

static const struct kb_device_ops toy_ops = {
    .alloc = toy_alloc,
    .free = toy_free,
    .memory = toy_memory,
    .to_device = toy_to_device,
    .to_host = toy_to_host,
    .copy = toy_copy,
    .fill = toy_fill,
    .undefined = toy_undefine,
    .load = toy_load,
    .unload = toy_unload,
    .symbol = toy_symbol,
    .module_memory = toy_memory_of,
    .launch = toy_launch,
    .kernel_info = toy_info,
    .sync = toy_sync,
    .close = toy_close,
};

struct kb_device *toy_open(const struct toy_entry *entries)
{
    struct toy_device *t = kb_alloc(sizeof *t);
    t->device.ops = &toy_ops;
    t->device.info.kind = KB_DEVICE_CPU;
    t->device.wants_ptx = true;
    t->entries = entries;
    return &t->device;
}

// Every kernel of the table, as a compiler would list them.
static cJSON *compiled_of(const struct toy_entry *entries)
{
    cJSON *list = cJSON_CreateArray();
    for (; entries->name; entries++) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "name", entries->name);
        cJSON_AddStringToObject(item, "lowered", entries->name);
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static struct kb_bench *parse(const char *json, struct kb_error *e)
{
    struct kb_bench *bench = NULL;
    char *text = kb_strdup(json);
    for (char *p = text; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    int failed = kb_bench_parse(text, strlen(text), "/bench/bench.json", &bench, e);
    free(text);
    return failed ? NULL : bench;
}

struct kb_command toy_command;

int toy_setup(struct toy *t, const struct toy_entry *entries, const char *json)
{
    *t = (struct toy){.device = toy_open(entries)};
    struct kb_data_request r = {.bench = parse(json, &t->error), .seed = 7, .sets = 2, .command = toy_command};
    if (!r.bench)
        return -1;
    struct kb_source source = {0};
    cJSON *compiled = compiled_of(entries);
    struct kb_image image = {0};
    kb_image_set(&image, "ptx", 3, NULL, 0);
    r.reference = &image;
    r.reference_compiled = compiled;
    int failed = kb_variant_resolve(r.bench, 0, &source, &t->variant, &t->error) ||
                 kb_data_open(t->device, &r, &t->data, &t->error) ||
                 kb_program_load(t->device, t->variant, compiled, &image, &t->program, &t->error);
    kb_image_free(&image);
    cJSON_Delete(compiled);
    return failed ? -1 : 0;
}

void toy_teardown(struct toy *t)
{
    kb_program_unload(&t->program);
    kb_variant_free(t->variant);
    if (t->data.device)
        kb_data_close(&t->data);
    t->device->ops->close(t->device);
}

const char *toy_try(struct toy *t, int case_index, enum kb_trial_depth depth, struct kb_trial *trial)
{
    struct kb_case_data *c = &t->data.cases[case_index];
    struct kb_plan plan = {0};
    bool fresh = false;
    struct kb_set *s = kb_data_take(&t->data, c, &fresh, &t->error);
    *trial = (struct kb_trial){0};
    int failed = !s || kb_plan_make(t->data.bench, case_index, true, t->variant, &plan, &t->error) ||
                 kb_trial_run(&t->data, c, s, &t->program, &plan, t->variant, depth, trial, &t->error);
    trial->fresh = fresh;
    kb_plan_free(&plan);
    return failed ? t->error.what : NULL;
}
