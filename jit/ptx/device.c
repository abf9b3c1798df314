// The CPU device: the table of jit/device.h over host memory and the interpreter.
#include "jit/device.h"
#include "base/memory.h"
#include "jit/ptx/async.h"
#include "jit/ptx/device_parts.h"
#include "jit/ptx/elements.h"
#include "jit/ptx/undefined.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

// Budget of one warp before it counts as endless: some 20 s on one core.
#define WARP_BUDGET (1ull << 30)
enum { RECURSION_STACK = 64 << 10, WORKSPACE_BYTES = 1024 };

static struct cpu_device *self(struct kb_device *d)
{
    return (struct cpu_device *)d;
}

static int failed(struct kb_device *d, int kind, int code, const char *name)
{
    d->fault.kind = kind;
    d->fault.code = code;
    snprintf(d->fault.name, sizeof d->fault.name, "%s", name);
    return -1;
}

static int cpu_alloc(struct kb_device *d, const struct kb_buffer_spec *s, struct kb_buffer *b, struct kb_error *e)
{
    size_t guard = (s->guard_bytes + 255) & ~(size_t)255;
    if (s->bytes > SIZE_MAX / 4 || guard > SIZE_MAX / 8) {
        kb_fail(e, s->name, NULL, "%zu bytes cannot be allocated", s->bytes);
        return failed(d, KB_FAULT_MEMORY, 2, "CUDA_ERROR_OUT_OF_MEMORY");
    }
    size_t total = guard + s->misalign + s->bytes + guard;
    total = (total + 511) & ~(size_t)255;
    char *memory = aligned_alloc(256, total);
    if (!memory) {
        kb_fail(e, s->name, "use smaller cases", "%zu bytes of host memory cannot be allocated", total);
        return failed(d, KB_FAULT_MEMORY, 2, "CUDA_ERROR_OUT_OF_MEMORY");
    }
    *b = (struct kb_buffer){.bytes = s->bytes, .guard_bytes = s->guard_bytes, .total = total};
    b->base = (uint64_t)memory;
    b->address = b->base + guard + s->misalign;
    b->host = (void *)b->address;
    struct ptx_allocation *a = kb_alloc(sizeof *a);
    *a = (struct ptx_allocation){.low = b->address,
                                 .high = b->address + s->bytes,
                                 .outer_low = b->base,
                                 .outer_high = b->base + total,
                                 .dtype = s->dtype,
                                 .ndim = s->ndim,
                                 .element_bytes = (uint32_t)kb_dtype_bytes(s->dtype),
                                 .read_only = s->read_only,
                                 .memory = memory};
    memcpy(a->shape, s->shape, sizeof a->shape);
    snprintf(a->name, sizeof a->name, "%s", s->name ? s->name : "a buffer without a name");
    ptx_space_add(&self(d)->space, a);
    return 0;
}

static void free_allocation(struct ptx_allocation *a)
{
    free(a->undefined);
    free(a->memory);
    free(a);
}

static void cpu_free(struct kb_device *d, struct kb_buffer *b)
{
    struct ptx_space_table *t = &self(d)->space;
    for (uint32_t i = 0; i < t->count && b->base; i++) {
        struct ptx_allocation *a = t->items[i];
        if (a->outer_low != b->base || a->variable)
            continue;
        ptx_space_remove(t, a);
        free_allocation(a);
        break;
    }
    *b = (struct kb_buffer){0};
}

static int cpu_memory(struct kb_device *d, size_t *free_bytes, size_t *total_bytes, struct kb_error *e)
{
    (void)d;
    struct sysinfo s;
    if (sysinfo(&s))
        return kb_fail(e, NULL, NULL, "the size of the host's memory is not known");
    *free_bytes = (size_t)s.freeram * s.mem_unit + (size_t)s.bufferram * s.mem_unit;
    *total_bytes = (size_t)s.totalram * s.mem_unit;
    return 0;
}

// Copies may touch guard zones (that is how they are filled), but nothing outside of one allocation.
static int check_range(struct kb_device *d, uint64_t address, size_t bytes, struct kb_error *e)
{
    const struct ptx_allocation *a = ptx_space_find(&self(d)->space, address);
    if (!bytes || (a && address + bytes <= a->outer_high))
        return 0;
    kb_fail(e, a ? a->name : NULL, NULL, "a copy of %zu bytes at 0x%llx leaves its allocation", bytes,
            (unsigned long long)address);
    return failed(d, KB_FAULT_REFUSED, 1, "CUDA_ERROR_INVALID_VALUE");
}

// What the host writes has content; guard zones are nobody's to read.
static void define(struct kb_device *d, uint64_t address, size_t bytes)
{
    struct ptx_allocation *a = ptx_space_find(&self(d)->space, address);
    uint64_t end = address + bytes;
    if (bytes && a)
        a->set = true;
    if (!bytes || !a || !a->undefined)
        return;
    address = address < a->low ? a->low : address;
    end = end > a->high ? a->high : end;
    if (address < end)
        ptx_define(a, address, end - address);
}

static int cpu_undefined(struct kb_device *d, uint64_t address, size_t bytes, struct kb_error *e)
{
    struct ptx_allocation *a = ptx_space_find(&self(d)->space, address);
    if (bytes && (!a || address < a->low || address + bytes > a->high)) {
        kb_fail(e, a ? a->name : NULL, NULL, "%zu bytes at 0x%llx are not inside of one buffer", bytes,
                (unsigned long long)address);
        return failed(d, KB_FAULT_REFUSED, 1, "CUDA_ERROR_INVALID_VALUE");
    }
    if (self(d)->check == PTX_CHECK_FULL && bytes)
        ptx_undefine(a, address, bytes);
    return 0;
}

static int cpu_to_device(struct kb_device *d, uint64_t to, const void *from, size_t bytes, struct kb_error *e)
{
    if (check_range(d, to, bytes, e))
        return -1;
    if (bytes)
        memcpy((void *)to, from, bytes);
    define(d, to, bytes);
    return 0;
}

static int cpu_to_host(struct kb_device *d, void *to, uint64_t from, size_t bytes, struct kb_error *e)
{
    if (check_range(d, from, bytes, e))
        return -1;
    if (bytes)
        memcpy(to, (const void *)from, bytes);
    return 0;
}

static int cpu_copy(struct kb_device *d, uint64_t to, uint64_t from, size_t bytes, struct kb_error *e)
{
    if (check_range(d, to, bytes, e) || check_range(d, from, bytes, e))
        return -1;
    if (bytes)
        memmove((void *)to, (const void *)from, bytes);
    define(d, to, bytes);
    return 0;
}

static int cpu_fill(struct kb_device *d, uint64_t to, uint8_t byte, size_t bytes, struct kb_error *e)
{
    if (check_range(d, to, bytes, e))
        return -1;
    if (bytes)
        memset((void *)to, byte, bytes);
    define(d, to, bytes);
    return 0;
}

static void free_module(struct kb_module *m)
{
    while (m->kernels) {
        struct kb_kernel *next = m->kernels->next;
        free(m->kernels);
        m->kernels = next;
    }
    for (uint32_t i = 0; i < m->variable_count; i++) {
        ptx_space_remove(&m->device->space, m->variables[i]);
        free(m->variables[i]->memory);
        free(m->variables[i]);
    }
    free(m->variables);
    free(m->memory);
    ptx_module_free(m->ptx);
    free(m);
}

static int cpu_load(struct kb_device *d, const void *image, size_t bytes, struct kb_module **out, struct kb_error *e)
{
    struct kb_module *m = kb_alloc(sizeof *m);
    *out = NULL;
    m->device = self(d);
    if (ptx_parse(image, bytes, &m->ptx, e)) {
        free(m);
        return failed(d, KB_FAULT_REFUSED, 218, "CUDA_ERROR_INVALID_PTX");
    }
    ptx_find_elements(m->ptx);
    if (ptx_place_variables(m, e)) {
        free_module(m);
        return failed(d, KB_FAULT_REFUSED, 218, "CUDA_ERROR_INVALID_PTX");
    }
    ptx_place_shared(m);
    ptx_decode(m->ptx);
    if (ptx_find_func(m->ptx, "malloc"))
        ptx_heap_open(&m->device->heap, &m->device->space);
    *out = m;
    return 0;
}

static void cpu_unload(struct kb_device *d, struct kb_module *m)
{
    (void)d;
    if (m)
        free_module(m);
}

static int cpu_variable(struct kb_module *m, const char *name, uint64_t *address, size_t *bytes, struct kb_error *e)
{
    for (uint32_t i = 0; i < m->variable_count; i++)
        if (!strcmp(m->variables[i]->name, name)) {
            *address = m->variables[i]->low;
            *bytes = m->variables[i]->high - m->variables[i]->low;
            return 0;
        }
    kb_fail(e, name, NULL, "the module holds no variable of this name");
    return failed(&m->device->base, KB_FAULT_REFUSED, 500, "CUDA_ERROR_NOT_FOUND");
}

static int cpu_symbol(struct kb_module *m, const char *name, struct kb_kernel **out, struct kb_error *e)
{
    for (struct kb_kernel *k = m->kernels; k; k = k->next)
        if (!strcmp(k->func->name, name)) {
            *out = k;
            return 0;
        }
    struct ptx_func *f = ptx_find_func(m->ptx, name);
    if (!f || !f->is_entry || f->is_extern) {
        kb_fail(e, name, NULL, "the module holds no kernel of this name");
        return failed(&m->device->base, KB_FAULT_REFUSED, 500, "CUDA_ERROR_NOT_FOUND");
    }
    struct kb_kernel *k = kb_alloc(sizeof *k);
    k->module = m;
    k->func = f;
    k->static_shared = ptx_static_shared(m->ptx, f);
    k->next = m->kernels;
    m->kernels = *out = k;
    return 0;
}

static void cpu_kernel_info(const struct kb_kernel *k, struct kb_kernel_info *i)
{
    const struct kb_device_info *limits = &k->module->device->base.info;
    bool recursive;
    *i = (struct kb_kernel_info){.max_threads = limits->max_threads_per_block, .static_shared = k->static_shared};
    snprintf(i->name, sizeof i->name, "%s", k->func->name);
    if (k->func->max_threads && k->func->max_threads < i->max_threads)
        i->max_threads = k->func->max_threads;
    i->local_bytes = k->func->program ? ptx_stack_bytes(k->module->ptx, k->func, &recursive) : 0;
    for (const struct ptx_var *v = k->module->ptx->vars; v; v = v->next)
        if (v->space == PTX_SPACE_CONST && ptx_uses_var(k->module->ptx, k->func, v))
            i->const_bytes += v->bytes;
    int64_t room = (int64_t)limits->shared_per_block_optin - (int64_t)k->static_shared;
    i->max_dynamic_shared = room < 0 ? 0 : (int)room;
    uint64_t offset = 0;
    for (const struct ptx_var *v = k->func->params; v; v = v->next) {
        offset = (offset + v->align - 1) & ~(uint64_t)(v->align - 1);
        if (i->param_count < KB_MAX_PARAMS) {
            i->param_offset[i->param_count] = (int)offset;
            i->param_bytes[i->param_count] = (int)v->bytes;
        }
        i->param_count++;
        offset += v->bytes;
    }
    i->param_count = i->param_count > KB_MAX_PARAMS ? -1 : i->param_count;
    i->cluster_required = k->func->cluster;
}

static int cpu_occupancy(struct kb_kernel *k, int threads, size_t dynamic, int *blocks, struct kb_error *e)
{
    const struct kb_device_info *l = &k->module->device->base.info;
    if (threads < 1 || threads > l->max_threads_per_block) {
        kb_fail(e, k->func->name, NULL, "a block of %d threads, %d at most", threads, l->max_threads_per_block);
        return failed(&k->module->device->base, KB_FAULT_REFUSED, 1, "CUDA_ERROR_INVALID_VALUE");
    }
    int warps = (threads + l->warp_size - 1) / l->warp_size;
    int by_threads = l->max_threads_per_sm / (warps * l->warp_size);
    size_t shared = k->static_shared + dynamic + l->shared_reserved_per_block;
    int by_shared = shared ? (int)(l->shared_per_sm / shared) : l->max_blocks_per_sm;
    int least = by_threads < l->max_blocks_per_sm ? by_threads : l->max_blocks_per_sm;
    *blocks = by_shared < least ? by_shared : least;
    return 0;
}

static int refuse(struct kb_kernel *k, struct kb_error *e, const char *name, const char *remedy, const char *what)
{
    kb_fail(e, k->func->name, remedy, "%s", what);
    return failed(&k->module->device->base, KB_FAULT_REFUSED, 1, name);
}

static int check_launch(struct kb_kernel *k, const struct kb_launch_args *a, struct kb_error *e)
{
    struct kb_device *d = &k->module->device->base;
    const struct kb_error *refusal = ptx_refusal(k->func);
    if (refusal) {
        if (e)
            *e = *refusal;
        return failed(d, KB_FAULT_REFUSED, 801, "CUDA_ERROR_NOT_SUPPORTED");
    }
    if (kb_launch_check(k, d->ops, &d->info, a, e))
        return failed(d, KB_FAULT_REFUSED, 1, "CUDA_ERROR_INVALID_VALUE");
    char text[256];
    int64_t threads = a->block[0] * a->block[1] * a->block[2];
    const struct ptx_func *f = k->func;
    if (f->max_threads && threads > f->max_threads) {
        snprintf(text, sizeof text, "%lld threads a block, but the kernel's bounds allow %d", (long long)threads,
                 f->max_threads);
        return refuse(k, e, "CUDA_ERROR_INVALID_VALUE", "launch fewer threads, or raise __launch_bounds__", text);
    }
    for (int i = 0; i < 3; i++)
        if (f->required[0] && a->block[i] != f->required[i]) {
            snprintf(text, sizeof text, "a block of %lldx%lldx%lld, but the kernel requires %dx%dx%d",
                     (long long)a->block[0], (long long)a->block[1], (long long)a->block[2], f->required[0],
                     f->required[1], f->required[2]);
            return refuse(k, e, "CUDA_ERROR_INVALID_VALUE", "launch the block that the kernel asks for", text);
        }
    int params = 0;
    for (const struct ptx_var *v = f->params; v; v = v->next)
        params++;
    if (a->arg_count != params) {
        snprintf(text, sizeof text, "the kernel takes %d parameters, the launch gives %d", params, a->arg_count);
        return refuse(k, e, "CUDA_ERROR_INVALID_VALUE", "pass what the kernel declares", text);
    }
    return 0;
}

static uint8_t *pack_params(const struct kb_kernel *k, const struct kb_launch_args *a, size_t *bytes)
{
    *bytes = 0;
    for (const struct ptx_var *v = k->func->params; v; v = v->next)
        *bytes = v->place + v->bytes;
    uint8_t *block = kb_alloc(*bytes + 16);
    int i = 0;
    for (const struct ptx_var *v = k->func->params; v; v = v->next)
        memcpy(block + v->place, a->args[i++], v->bytes);
    return block;
}

static void add_range(struct ptx_launch *l, const struct ptx_var *v, uint64_t bytes)
{
    l->ranges = kb_realloc(l->ranges, ((size_t)l->range_count + 1) * sizeof *l->ranges);
    struct ptx_shared_range *r = &l->ranges[l->range_count++];
    *r = (struct ptx_shared_range){.low = (uint32_t)v->place,
                                   .high = (uint32_t)(v->place + bytes),
                                   .name = v->name,
                                   .element_bytes = v->element_bytes};
    l->shared_end = r->high > l->shared_end ? r->high : l->shared_end;
}

static void set_shared(struct ptx_launch *l, const struct kb_kernel *k, size_t dynamic)
{
    const struct ptx_module *m = k->module->ptx;
    bool named = false;
    struct ptx_var reserved = {.name = "reserved shared memory", .element_bytes = 1};
    if (ptx_uses_reserved(m, k->func))
        add_range(l, &reserved, PTX_RESERVED_SHARED);
    l->dynamic_at = k->module->dynamic_at;
    l->dynamic_shared = (uint32_t)dynamic;
    l->static_shared = (uint32_t)k->static_shared;
    for (const struct ptx_var *v = m->vars; v; v = v->next) {
        if (v->space != PTX_SPACE_SHARED || !ptx_uses_var(m, k->func, v))
            continue;
        if (v->bytes)
            add_range(l, v, v->bytes);
        else if (dynamic && !named)
            add_range(l, v, dynamic);
        named |= !v->bytes;
    }
    for (const struct ptx_func *f = m->funcs; f; f = f->next)
        for (const struct ptx_var *v = f->locals; v; v = v->next)
            if (v->space == PTX_SPACE_SHARED && ptx_uses_var(m, k->func, v))
                add_range(l, v, v->bytes);
    if (dynamic && !named) { // reached by a computed address only
        struct ptx_var v = {.name = "dynamic shared memory", .place = l->dynamic_at, .element_bytes = 1};
        add_range(l, &v, dynamic);
    }
}

static uint64_t workspace(struct cpu_device *c)
{
    struct ptx_allocation *a = &c->workspace;
    if (!a->memory) {
        a->memory = aligned_alloc(256, WORKSPACE_BYTES);
        if (!a->memory)
            abort();
        a->low = a->outer_low = (uint64_t)a->memory;
        a->high = a->outer_high = a->low + WORKSPACE_BYTES;
        a->element_bytes = 1;
        snprintf(a->name, sizeof a->name, "the workspace of cooperative launches");
        ptx_space_add(&c->space, a);
    }
    memset(a->memory, 0, WORKSPACE_BYTES);
    return a->low;
}

static void set_launch(struct ptx_launch *l, struct kb_kernel *k, const struct kb_launch_args *a)
{
    struct cpu_device *c = k->module->device;
    bool recursive;
    l->module = k->module->ptx;
    l->func = k->func;
    l->space = &c->space;
    l->check = c->check;
    for (int i = 0; i < 3; i++) {
        l->grid[i] = (uint32_t)a->grid[i];
        l->block[i] = (uint32_t)a->block[i];
    }
    l->threads = l->block[0] * l->block[1] * l->block[2];
    l->warps = (l->threads + PTX_LANES - 1) / PTX_LANES;
    l->ctas = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    l->cooperative = a->cooperative;
    l->seed = c->seed ? c->seed + c->launches++ * 0x9e3779b97f4a7c15 : 0; // another order each time
    l->budget = c->budget;
    l->heap = &c->heap;
    l->stops = c->base.stops;
    l->stops_context = c->base.stops_context;
    l->sm_count = c->base.info.sm_count;
    l->warps_per_sm = (uint32_t)(c->base.info.max_threads_per_sm / PTX_LANES);
    l->clock_counts = c->base.clock_counts;
    ptx_clock_launch(&c->clock, c->base.clock_seed ? c->base.clock_seed : c->seed, l);
    l->local_bytes = (uint32_t)ptx_stack_bytes(l->module, l->func, &recursive);
    if (recursive)
        l->local_bytes = RECURSION_STACK;
    l->workspace = a->cooperative ? workspace(c) : 0;
    set_shared(l, k, a->shared);
}

static int cpu_launch(struct kb_kernel *k, const struct kb_launch_args *a, struct kb_error *e)
{
    struct cpu_device *c = k->module->device;
    c->base.fault.kind = KB_FAULT_NONE;
    cJSON_Delete(c->facts);
    c->facts = NULL;
    if (check_launch(k, a, e))
        return -1;
    struct ptx_output output = {0};
    struct ptx_launch l = {.lock = PTHREAD_MUTEX_INITIALIZER, .output = &output};
    set_launch(&l, k, a);
    l.params = pack_params(k, a, &l.param_bytes);
    l.reports = kb_alloc(PTX_MAX_REPORTS * sizeof *l.reports);
    struct ptx_thread total = {.launch = &l};
    total.ops = kb_alloc((l.module->op_ids + 1) * sizeof *total.ops);
    total.blocks = kb_alloc((l.module->block_ids + 1) * sizeof *total.blocks);
    int status = ptx_run(&l, &total);
    ptx_clock_done(&c->clock, &l);
    if (l.check == PTX_CHECK_FULL)
        ptx_shadow_end(&c->space);
    ptx_shadow_forget_flags(&l);
    ptx_note_unset(&l, k->module);
    ptx_output_flush(&output);
    c->facts = ptx_facts(&l, &total);
    c->base.executed += (uint64_t)cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(c->facts, "instructions"));
    c->base.stopped |= l.stopped;
    if (status && l.stopped) {
        kb_fail(e, k->func->name, NULL, "the launch was stopped");
        failed(&c->base, KB_FAULT_REFUSED, 0, "");
    } else if (status) {
        if (e)
            *e = l.fault;
        failed(&c->base, l.refused ? KB_FAULT_REFUSED : KB_FAULT_POISONED, l.fault_code, l.fault_name);
    }
    free(total.ops);
    free(total.blocks);
    free(l.reports);
    free(l.ranges);
    free((void *)l.params);
    return status;
}

static int cpu_sync(struct kb_device *d, struct kb_error *e)
{
    (void)d, (void)e; // launches have ended when they return
    return 0;
}

static cJSON *cpu_facts(struct kb_device *d)
{
    struct cpu_device *c = self(d);
    cJSON *facts = c->facts ? cJSON_Duplicate(c->facts, true) : NULL;
    return facts;
}

static void cpu_close(struct kb_device *d)
{
    struct cpu_device *c = self(d);
    ptx_space_remove(&c->space, &c->workspace);
    ptx_heap_close(&c->heap, &c->space);
    free(c->workspace.memory);
    while (c->space.count) { // buffers that were not given back; modules are the caller's to unload
        struct ptx_allocation *a = c->space.items[--c->space.count];
        if (!a->variable)
            free_allocation(a);
    }
    free(c->space.items);
    cJSON_Delete(c->facts);
    free(c);
}

static const struct kb_device_ops cpu_ops = {
    .alloc = cpu_alloc,
    .free = cpu_free,
    .memory = cpu_memory,
    .to_device = cpu_to_device,
    .to_host = cpu_to_host,
    .copy = cpu_copy,
    .fill = cpu_fill,
    .undefined = cpu_undefined,
    .load = cpu_load,
    .unload = cpu_unload,
    .symbol = cpu_symbol,
    .variable = cpu_variable,
    .module_memory = ptx_module_memory,
    .kernel_info = cpu_kernel_info,
    .occupancy = cpu_occupancy,
    .launch = cpu_launch,
    .sync = cpu_sync,
    .facts = cpu_facts,
    .close = cpu_close,
};

// Limits of compute capability 9.0 (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability") and
// of an H200 SXM.
static const struct kb_device_info h200 = {
    .name = "NVIDIA H200",
    .arch = "sm_90",
    .sm_count = 132,
    .max_threads_per_sm = 2048,
    .max_blocks_per_sm = 32,
    .warp_size = 32,
    .registers_per_sm = 65536,
    .registers_per_block = 65536,
    .max_threads_per_block = 1024,
    .max_grid = {2147483647, 65535, 65535},
    .max_block = {1024, 1024, 64},
    .shared_per_sm = 228 << 10,
    .shared_per_block = 48 << 10,
    .shared_per_block_optin = 227 << 10,
    .shared_reserved_per_block = 1 << 10,
    .l2_bytes = 60 << 20,
    .cooperative_launch = true,
};

static int parse_check(const char *text, enum ptx_check *check, struct kb_error *e)
{
    static const char *const names[] = {"off", "bounds", "full"};
    *check = PTX_CHECK_BOUNDS;
    for (size_t i = 0; text && i < KB_COUNT(names); i++)
        if (!strcmp(text, names[i])) {
            *check = (enum ptx_check)i;
            return 0;
        }
    return text ? kb_fail(e, NULL, "one of off, bounds and full", "the check level '%s' is not known", text) : 0;
}

int kb_device_open_cpu(const struct kb_device_request *r, struct kb_device **out, struct kb_error *e)
{
    *out = NULL;
    enum ptx_check check;
    if (parse_check(r ? r->check : NULL, &check, e))
        return -1;
    struct cpu_device *c = kb_alloc(sizeof *c);
    c->base.ops = &cpu_ops;
    c->base.wants_ptx = true;
    c->check = check;
    c->seed = r ? r->seed : 0;
    const char *budget = getenv("KB_PTX_BUDGET"); // instructions of one warp
    c->budget = budget && strtoull(budget, NULL, 10) ? strtoull(budget, NULL, 10) : WARP_BUDGET;
    const struct kb_device_info *like = r && r->like_info ? r->like_info : &h200;
    c->base.info = *like;
    c->base.info.kind = KB_DEVICE_CPU;
    c->base.info.warp_size = PTX_LANES;
    c->base.info.index = c->base.info.mps = 0;
    c->base.info.exclusive_process = c->base.info.integrated = false;
    c->base.info.uuid[0] = c->base.info.driver[0] = c->base.info.driver_library[0] = 0;
    snprintf(c->base.info.name, sizeof c->base.info.name, "CPU (PTX) like %.100s",
             like->name[0] ? like->name : "a GPU");
    struct sysinfo s;
    if (!sysinfo(&s))
        c->base.info.memory_bytes = (size_t)s.totalram * s.mem_unit;
    *out = &c->base;
    return 0;
}
