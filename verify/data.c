#include "verify/data.h"
#include "base/clock.h"
#include "base/memory.h"
#include "verify/fill.h"
#include "verify/mask.h"
#include "verify/neighbour.h"
#include "verify/null_kernels.h"
#include "verify/probe.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
    SMALL_ELEMENTS = 65536,
    INSTRUCTIONS_A_US = 50, // of warps on the CPU device: a slow core at kernels that branch and wait
};

bool kb_device_is_lost(const struct kb_device *device)
{
    return device->fault.kind == KB_FAULT_POISONED || device->fault.kind == KB_FAULT_LOST;
}

enum kb_dtype kb_reference_type(enum kb_dtype dtype)
{
    return kb_dtype_is_float(dtype) ? KB_F64 : dtype;
}

static bool has_work(enum kb_role role)
{
    return role == KB_OUTPUT || role == KB_INOUT || role == KB_SCRATCH;
}

static double guarded(double elements, enum kb_dtype dtype)
{
    return elements * (double)kb_dtype_bytes(dtype) + 2 * KB_GUARD_BYTES + 512;
}

static int64_t groups_of(const struct kb_case_data *c, const struct kb_bench *b, int arg)
{
    int64_t group = (int64_t)kb_scale_group(b->args[arg].ndim, c->shape[arg]);
    return (c->elements[arg] + group - 1) / group;
}

static int halves_of(const struct kb_bench *b)
{
    int count = 0;
    for (int i = 0; i < b->arg_count; i++)
        count += kb_arg_is_read(b->args[i].role) && b->args[i].dtype == KB_F16;
    return count;
}

static bool has_equal_terms(const struct kb_bench *b, int case_index)
{
    for (int i = 0; i < b->arg_count; i++)
        if (kb_arg_is_read(b->args[i].role) && kb_dtype_is_float(b->args[i].dtype) && b->args[i].ndim &&
            kb_hard_own_fill(b, case_index, i)->kind == KB_FILL_CONSTANT)
            return true;
    return false;
}

static void measure(const struct kb_data *d, struct kb_case_data *c)
{
    int64_t inputs[64], longest[64], most = 0;
    int input_count = 0;
    for (int i = 0; i < d->bench->arg_count; i++) {
        const struct kb_arg *a = &d->bench->args[i];
        double n = (double)c->elements[i];
        if (kb_arg_is_read(a->role))
            c->set_bytes += guarded(n, a->dtype);
        if (kb_arg_is_written(a->role)) {
            c->set_bytes +=
                guarded(n, kb_reference_type(a->dtype)) + guarded((double)groups_of(c, d->bench, i), KB_F64);
            most = c->elements[i] > most ? c->elements[i] : most;
        }
        if (has_work(a->role))
            c->work_bytes += 2 * guarded(n, a->dtype);
        if (kb_arg_is_read(a->role) && input_count < 64) {
            inputs[input_count] = c->elements[i];
            longest[input_count] = 1;
            for (int k = 0; k < a->ndim; k++)
                longest[input_count] = c->shape[i][k] > longest[input_count] ? c->shape[i][k] : longest[input_count];
            input_count++;
        }
    }
    c->sums = (struct kb_sums){.terms = kb_terms(input_count, inputs, longest, most),
                               .products = halves_of(d->bench) > 1,
                               .equal = has_equal_terms(d->bench, c->index)};
}

static int lay_out(struct kb_data *d, struct kb_case_data *c, struct kb_error *e)
{
    const struct kb_bench *b = d->bench;
    struct kb_names names = {0};
    int failed = kb_case_names(b, c->index, d->on_cpu, NULL, &names, e);
    for (int i = 0; !failed && i < b->arg_count; i++)
        if (b->args[i].role != KB_SCALAR)
            failed = kb_shape_eval(&b->args[i], &names, c->shape[i], &c->elements[i], e);
    kb_names_free(&names);
    if (!failed)
        measure(d, c);
    if (!failed && d->bench->reference.kind == KB_REFERENCE_KERNEL && d->has_reference)
        failed = c->reference_failed =
            kb_plan_make(b, c->index, d->on_cpu, &b->reference.program, &c->reference, e) != 0;
    return failed ? -1 : 0;
}

void kb_case_open(struct kb_data *d, int index, struct kb_case_data *c)
{
    size_t args = (size_t)d->bench->arg_count;
    c->index = index;
    c->label = kb_case_label(d->bench, index, d->on_cpu);
    c->shape = kb_alloc(args * sizeof *c->shape);
    c->elements = kb_alloc(args * sizeof *c->elements);
    c->sets = kb_alloc(KB_MOST_SETS * sizeof *c->sets);
    c->usable = lay_out(d, c, &c->why) == 0;
    if (c->usable && c->set_bytes + c->work_bytes > d->budget_bytes) {
        c->usable = false;
        c->no_memory = true;
        kb_fail(&c->why, c->label, NULL, "the case needs %.0f MiB, half of the device's free memory is %.0f MiB",
                (c->set_bytes + c->work_bytes) / 1048576, d->budget_bytes / 1048576);
    }
}

static int load_reference(struct kb_data *d, const struct kb_data_request *r, struct kb_error *e)
{
    switch (d->bench->reference.kind) {
    case KB_REFERENCE_KERNEL:
        d->no_reference = "the reference is not compiled";
        d->has_reference = r->reference != NULL;
        if (!r->reference)
            return 0;
        return kb_program_load(d->device, &d->bench->reference.program, r->reference_compiled, r->reference,
                               &d->reference, e);
    case KB_REFERENCE_FILE:
        d->has_reference = true;
        return 0;
    case KB_REFERENCE_COMMAND:
        d->no_reference = "the reference is a command that nobody has allowed yet: kbench-tui allow BENCH";
        d->has_reference = r->command.dir != NULL;
        return 0;
    default:
        d->no_reference = "the bench has no reference";
        return 0;
    }
}

int kb_data_open(struct kb_device *device, const struct kb_data_request *r, struct kb_data *d, struct kb_error *e)
{
    size_t free_bytes = 0, total = 0, image_bytes = 0;
    int sets = r->sets < 1 ? 1 : r->sets > KB_MOST_SETS ? KB_MOST_SETS : r->sets;
    *d = (struct kb_data){.device = device,
                          .bench = r->bench,
                          .on_cpu = device->info.kind == KB_DEVICE_CPU,
                          .seed = r->seed,
                          .want_sets = sets,
                          .command = r->command,
                          .files = r->files,
                          .file_count = r->file_count};
    d->masks = !d->on_cpu;
    kb_mask_begin(d);
    bool loops = d->on_cpu || !r->builtin;
    const void *image = loops ? NULL : kb_image_for(r->builtin, device, &image_bytes, e);
    if ((!loops && !image) || kb_ops_open(device, image, image_bytes, false, &d->ops, e) ||
        device->ops->memory(device, &free_bytes, &total, e)) {
        kb_data_close(d);
        return -1;
    }
    if (load_reference(d, r, e)) {
        kb_data_close(d);
        d->reference_failed = true;
        return -1;
    }
    d->budget_bytes = (double)free_bytes / 2;
    d->cases = kb_alloc((size_t)d->bench->case_count * sizeof *d->cases);
    for (int i = 0; i < d->bench->case_count; i++)
        kb_case_open(d, i, &d->cases[i]);
    kb_neighbours_find(d);
    return 0;
}

static void free_buffers(struct kb_data *d, struct kb_buffer *list)
{
    for (int i = 0; list && i < d->bench->arg_count; i++)
        if (list[i].address)
            d->device->ops->free(d->device, &list[i]);
    free(list);
}

void kb_set_free(struct kb_data *d, struct kb_set *s)
{
    free_buffers(d, s->input);
    free_buffers(d, s->ref);
    free_buffers(d, s->scale);
    free_buffers(d, s->condition);
    free(s->hash);
    free(s->ref_hash);
    free(s->scale_hash);
    free(s->fallback);
    *s = (struct kb_set){0};
}

void kb_case_close(struct kb_data *d, struct kb_case_data *c)
{
    for (int i = 0; i < c->set_count; i++)
        kb_set_free(d, &c->sets[i]);
    for (int i = 0; c->stress && i < KB_STRESSES; i++)
        kb_set_free(d, &c->stress[i]);
    free(c->stress);
    free_buffers(d, c->work[0]);
    free_buffers(d, c->work[1]);
    kb_plan_free(&c->reference);
    free(c->label);
    free(c->shape);
    free(c->elements);
    free(c->sets);
}

void kb_data_close(struct kb_data *d)
{
    for (int i = 0; d->cases && i < d->bench->case_count; i++)
        kb_case_close(d, &d->cases[i]);
    kb_neighbours_close(d);
    free(d->cases);
    kb_program_unload(&d->reference);
    kb_ops_close(&d->ops);
    kb_bench_free(d->bench);
    *d = (struct kb_data){0};
}

int64_t kb_case_elements(const struct kb_data *d, const struct kb_case_data *c)
{
    int64_t n = 0;
    for (int i = 0; i < d->bench->arg_count; i++)
        n += c->elements[i];
    return n;
}

bool kb_case_is_small(const struct kb_data *d, const struct kb_case_data *c)
{
    return kb_case_elements(d, c) <= SMALL_ELEMENTS;
}

static double us_of(struct timeval t)
{
    return (double)t.tv_sec * 1e6 + (double)t.tv_usec;
}

double kb_spent_us(const struct kb_data *d)
{
    struct rusage commands;
    if (!d->on_cpu)
        return (double)kb_now_us();
    getrusage(RUSAGE_CHILDREN, &commands);
    return (double)d->device->executed / INSTRUCTIONS_A_US + us_of(commands.ru_utime) + us_of(commands.ru_stime);
}

bool kb_reference_is_slower(const struct kb_data *d, const struct kb_case_data *c, double us)
{
    return c->reference_spent_us > (d->on_cpu && kb_case_is_small(d, c) ? 25 * us : us);
}

int kb_data_smallest(const struct kb_data *d)
{
    int best = -1;
    double least = 0;
    for (int i = 0; i < d->bench->case_count; i++) {
        double bytes = d->cases[i].set_bytes + d->cases[i].work_bytes;
        if (d->cases[i].usable && (best < 0 || bytes < least)) {
            best = i;
            least = bytes;
        }
    }
    return best;
}

static int allocate(struct kb_data *d, const struct kb_case_data *c, int arg, enum kb_dtype dtype, int64_t elements,
                    bool read_only, struct kb_buffer *out, struct kb_error *e)
{
    const struct kb_arg *a = &d->bench->args[arg];
    struct kb_buffer_spec spec = {.bytes = (size_t)elements * kb_dtype_bytes(dtype),
                                  .read_only = read_only,
                                  .guard_bytes = KB_GUARD_BYTES,
                                  .name = a->name,
                                  .dtype = dtype,
                                  .ndim = a->ndim};
    memcpy(spec.shape, c->shape[arg], sizeof spec.shape);
    if (elements != c->elements[arg]) {
        spec.ndim = 1;
        spec.shape[0] = elements;
    }
    return d->device->ops->alloc(d->device, &spec, out, e) ? -1 : kb_op_guard_fill(&d->ops, out, e);
}

int kb_set_make(struct kb_data *d, const struct kb_case_data *c, struct kb_set *s, struct kb_error *e)
{
    const struct kb_bench *b = d->bench;
    size_t args = (size_t)b->arg_count;
    s->input = kb_alloc(args * sizeof *s->input);
    s->ref = kb_alloc(args * sizeof *s->ref);
    s->scale = kb_alloc(args * sizeof *s->scale);
    s->condition = kb_alloc(args * sizeof *s->condition);
    s->hash = kb_alloc(args * sizeof *s->hash);
    s->ref_hash = kb_alloc(args * sizeof *s->ref_hash);
    s->scale_hash = kb_alloc(args * sizeof *s->scale_hash);
    s->fallback = kb_alloc(args * sizeof *s->fallback);
    for (int i = 0; i < b->arg_count; i++) {
        enum kb_dtype dtype = b->args[i].dtype, wide = kb_reference_type(dtype);
        bool written = kb_arg_is_written(b->args[i].role);
        if ((kb_arg_is_read(b->args[i].role) && allocate(d, c, i, dtype, c->elements[i], true, &s->input[i], e)) ||
            (written && allocate(d, c, i, wide, c->elements[i], false, &s->ref[i], e)) ||
            (written && kb_dtype_is_float(dtype) &&
             allocate(d, c, i, KB_F64, groups_of(c, b, i), true, &s->scale[i], e))) {
            kb_set_free(d, s);
            return -1;
        }
    }
    return 0;
}

static int make_work(struct kb_data *d, struct kb_case_data *c, struct kb_error *e)
{
    const struct kb_bench *b = d->bench;
    for (int run = 0; run < 2; run++) {
        if (!c->work[run])
            c->work[run] = kb_alloc((size_t)b->arg_count * sizeof *c->work[run]);
        for (int i = 0; i < b->arg_count; i++)
            if (has_work(b->args[i].role) && !c->work[run][i].address &&
                allocate(d, c, i, b->args[i].dtype, c->elements[i], false, &c->work[run][i], e))
                return -1;
    }
    return 0;
}

static int grow(struct kb_data *d, struct kb_case_data *c, struct kb_set **out, struct kb_error *e)
{
    struct kb_set *s = &c->sets[c->set_count];
    if (kb_set_make(d, c, s, e))
        return -1;
    d->used_bytes += c->set_bytes;
    c->set_count++;
    *out = s;
    return 0;
}

bool kb_data_was_stopped(const struct kb_data *d)
{
    return d->command.stopped || d->device->stopped;
}

// A failure of a case by its own fault (no memory, a bad reference) makes the case unusable; the device lives on.
static int unusable(struct kb_data *d, struct kb_case_data *c, struct kb_error *e)
{
    c->reference_failed = d->reference_failed;
    if (!kb_device_is_lost(d->device) && !kb_data_was_stopped(d)) {
        c->usable = false;
        c->no_memory = c->no_memory || d->device->fault.kind == KB_FAULT_MEMORY;
        c->why = *e;
    }
    return -1;
}

static int refuse(struct kb_data *d, const struct kb_case_data *c, struct kb_error *e)
{
    d->reference_failed = c->reference_failed;
    *e = c->why;
    return -1;
}

int kb_data_prepare(struct kb_data *d, struct kb_case_data *c, struct kb_error *e)
{
    struct kb_set *s = c->set_count ? &c->sets[0] : NULL;
    d->reference_failed = false;
    if (!c->usable)
        return refuse(d, c, e);
    if (!s && d->used_bytes + c->set_bytes + c->work_bytes > d->budget_bytes) {
        kb_fail(e, c->label, NULL, "half of the device's free memory (%.0f MiB) is taken by other cases",
                d->budget_bytes / 1048576);
        c->no_memory = true;
        return unusable(d, c, e);
    }
    if (!c->work[0] || !c->work[1])
        d->used_bytes += c->work_bytes;
    if (make_work(d, c, e) || (!s && grow(d, c, &s, e)) || (!s->ready && kb_set_fill(d, c, s, e)) ||
        (!c->introduced && (kb_probe_sums(d, c, s, e) || kb_null_kernels(d, c, s, e))))
        return unusable(d, c, e);
    c->introduced = true;
    return 0;
}

static bool stale(const struct kb_set *s)
{
    return !s->ready || s->verified;
}

static struct kb_set *first_stale(const struct kb_case_data *c)
{
    for (int k = 0; k < c->set_count; k++)
        if (stale(&c->sets[k]))
            return &c->sets[k];
    return NULL;
}

static bool has_room(const struct kb_data *d, const struct kb_case_data *c)
{
    return c->set_count && c->set_count < d->want_sets && d->used_bytes + c->set_bytes <= d->budget_bytes;
}

static bool is_slow(const struct kb_data *d, const struct kb_case_data *c)
{
    return kb_reference_is_slower(d, c, 20e3);
}

bool kb_data_has_slow(const struct kb_data *d)
{
    for (int i = 0; i < d->bench->case_count; i++) {
        const struct kb_case_data *c = &d->cases[i];
        if (c->usable && is_slow(d, c) && (first_stale(c) || has_room(d, c)))
            return true;
    }
    return false;
}

int kb_data_refill(struct kb_data *d, bool slow, struct kb_case_data **c_out, struct kb_set **s_out, struct kb_error *e)
{
    *c_out = NULL;
    *s_out = NULL;
    for (int i = 0; i < d->bench->case_count; i++) {
        struct kb_case_data *c = &d->cases[i];
        struct kb_set *s = first_stale(c);
        bool room = has_room(d, c);
        if (!c->usable || (is_slow(d, c) && !slow) || (!s && c->set_count && !room))
            continue;
        *c_out = c;
        if (!c->set_count) {
            if (kb_data_prepare(d, c, e))
                return -1;
            *s_out = &c->sets[0];
            return 0;
        }
        if (!s && grow(d, c, &s, e)) { // memory is short: what is there must do
            d->want_sets = c->set_count;
            return 0;
        }
        *s_out = s;
        return kb_set_fill(d, c, s, e) ? unusable(d, c, e) : 0;
    }
    return 0;
}

struct kb_set *kb_data_take(struct kb_data *d, struct kb_case_data *c, bool *fresh, struct kb_error *e)
{
    struct kb_set *best = NULL;
    if (kb_data_prepare(d, c, e))
        return NULL;
    for (int i = 0; i < c->set_count; i++)
        if (c->sets[i].ready && (!best || c->sets[i].verified < best->verified ||
                                 (c->sets[i].verified == best->verified && c->sets[i].number < best->number)))
            best = &c->sets[i];
    *fresh = best && !best->verified;
    if (!*fresh && (!best || !kb_reference_is_slower(d, c, 50e3))) {
        best = best ? best : &c->sets[0];
        if (kb_set_fill(d, c, best, e)) {
            unusable(d, c, e);
            return NULL;
        }
        *fresh = true;
    }
    best->verified++;
    return best;
}

void kb_set_spoil(struct kb_set *s)
{
    s->ready = false;
    s->spoilt = true;
}

void kb_data_addresses(const struct kb_data *d, const struct kb_case_data *c, const struct kb_set *s, int run,
                       uint64_t *addresses)
{
    for (int i = 0; i < d->bench->arg_count; i++) {
        enum kb_role role = d->bench->args[i].role;
        addresses[i] = role == KB_INPUT ? s->input[i].address : has_work(role) ? c->work[run][i].address : 0;
    }
}

static int reset(struct kb_data *d, struct kb_case_data *c, const struct kb_set *s, int run, bool poison,
                 struct kb_error *e)
{
    for (int i = 0; i < d->bench->arg_count; i++) {
        const struct kb_arg *a = &d->bench->args[i];
        struct kb_buffer *b = &c->work[run][i];
        uint64_t n = (uint64_t)c->elements[i];
        int failed = 0;
        if (!has_work(a->role))
            continue;
        if (a->role == KB_INOUT)
            failed = b->bytes && d->device->ops->copy(d->device, b->address, s->input[i].address, b->bytes, e);
        else if (poison)
            failed = kb_op_poison(&d->ops, b, n, a->dtype, run, e);
        if (!failed && poison && a->role != KB_INOUT && d->device->ops->undefined)
            failed = d->device->ops->undefined(d->device, b->address, b->bytes, e);
        if (failed || kb_op_guard_fill(&d->ops, b, e))
            return -1;
    }
    return 0;
}

int kb_data_reset(struct kb_data *d, struct kb_case_data *c, const struct kb_set *s, int run, struct kb_error *e)
{
    return reset(d, c, s, run, true, e);
}

int kb_data_restore(struct kb_data *d, struct kb_case_data *c, const struct kb_set *s, int run, struct kb_error *e)
{
    return reset(d, c, s, run, false, e);
}
