#include "verify/fill.h"
#include "base/clock.h"
#include "base/memory.h"
#include "verify/command.h"
#include "verify/mask.h"
#include "verify/npy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

uint64_t kb_fill_key(uint64_t seed, uint64_t set, int case_index, int arg)
{
    uint64_t key = kbe_random(seed, set);
    key = kbe_random(key, (uint64_t)case_index);
    return kbe_random(key, (uint64_t)arg);
}

static int upload(struct kb_data *d, const struct kb_case_data *c, int arg, enum kb_dtype to, const char *file,
                  const struct kb_buffer *out, struct kb_error *e)
{
    const struct kb_arg *a = &d->bench->args[arg];
    struct kb_npy npy;
    const struct kb_data_file *found = NULL;
    for (int i = 0; i < d->file_count && !found; i++)
        found = strcmp(d->files[i].name, file) ? NULL : &d->files[i];
    if (!found)
        return kb_fail(e, file, NULL, "the file did not come with the bench");
    if (kb_npy_parse(found->bytes, found->size, file, &npy, e) || kb_npy_fits(&npy, a->ndim, c->shape[arg], file, e))
        return -1;
    char *bytes = kb_alloc(out->bytes);
    int failed = kb_npy_convert(&npy, to, bytes, file, e) ||
                 (out->bytes && d->device->ops->to_device(d->device, out->address, bytes, out->bytes, e));
    free(bytes);
    return failed ? -1 : 0;
}

bool kb_fill_of(const struct kb_data *d, const struct kb_case_data *c, uint64_t set, uint64_t base, int arg,
                struct kbe_fill *out)
{
    const struct kb_arg *a = &d->bench->args[arg];
    const struct kb_fill *f = kb_hard_own_fill(d->bench, c->index, arg);
    uint64_t n = (uint64_t)c->elements[arg], inner = a->ndim ? (uint64_t)c->shape[arg][a->ndim - 1] : 1;
    *out = (struct kbe_fill){.key = kb_fill_key(d->seed, base ? base : set, c->index, arg),
                             .other = base ? kb_fill_key(d->seed, set, c->index, arg) : 0,
                             .inner = inner ? inner : 1,
                             .a = f->mean,
                             .b = f->std,
                             .kind = (int)f->kind,
                             .dtype = (int)a->dtype};
    out->rows = n / out->inner;
    if (f->kind == KB_FILL_UNIFORM || f->kind == KB_FILL_INTEGERS) {
        out->a = f->kind == KB_FILL_INTEGERS ? ceil(f->low) : f->low;
        out->b = f->kind == KB_FILL_INTEGERS ? fmax(floor(f->high), out->a) : f->high;
    } else if (f->kind == KB_FILL_CONSTANT) {
        out->a = f->value;
    }
    return f->kind != KB_FILL_FILE;
}

bool kb_set_fill_of(const struct kb_data *d, const struct kb_case_data *c, const struct kb_set *s, int arg,
                    struct kbe_fill *out)
{
    struct kb_hard hard = {d->bench, c->index, (const int64_t(*)[KB_MAX_DIMS])c->shape, c->elements, d->on_cpu};
    bool generated = kb_fill_of(d, c, s->number, s->base, arg, out);
    if (generated && s->stressed)
        kb_hard_fill(&hard, s->stress, arg, out);
    return generated;
}

static int fill_input(struct kb_data *d, const struct kb_case_data *c, const struct kb_set *s, int arg,
                      struct kb_error *e)
{
    struct kbe_fill fill;
    if (!kb_set_fill_of(d, c, s, arg, &fill))
        return upload(d, c, arg, d->bench->args[arg].dtype, kb_hard_own_fill(d->bench, c->index, arg)->file,
                      &s->input[arg], e);
    return kb_op_fill(&d->ops, &s->input[arg], (uint64_t)c->elements[arg], &fill, e);
}

int kb_set_inputs(struct kb_data *d, const struct kb_case_data *c, struct kb_set *s, struct kb_error *e)
{
    for (int i = 0; i < d->bench->arg_count; i++) {
        if (!s->input[i].address)
            continue;
        if (kb_op_guard_fill(&d->ops, &s->input[i], e) || fill_input(d, c, s, i, e) ||
            kb_op_hash(&d->ops, &s->input[i], &s->hash[i], e))
            return -1;
    }
    return 0;
}

static int by_itself(struct kb_error *e, const char *arg, const struct kb_error *inner)
{
    return kb_fail(e, inner->on[0] ? inner->on : arg, inner->remedy, "the reference itself fails: %s", inner->what);
}

static int reset_results(struct kb_data *d, const struct kb_case_data *c, const struct kb_set *s,
                         struct kb_buffer *scratch, uint64_t *addresses, struct kb_error *e)
{
    for (int i = 0; i < d->bench->arg_count; i++) {
        const struct kb_arg *a = &d->bench->args[i];
        uint64_t n = (uint64_t)c->elements[i];
        int failed = 0;
        addresses[i] = s->ref[i].address ? s->ref[i].address : s->input[i].address;
        if (a->role == KB_INOUT && kb_reference_type(a->dtype) != a->dtype)
            failed = kb_op_widen(&d->ops, &s->input[i], a->dtype, &s->ref[i], n, e);
        else if (a->role == KB_INOUT && s->ref[i].bytes) // a result of its own type, f64 and integers: as it is
            failed = d->device->ops->copy(d->device, s->ref[i].address, s->input[i].address, s->ref[i].bytes, e);
        else if (a->role == KB_OUTPUT)
            failed = kb_op_poison(&d->ops, &s->ref[i], n, kb_reference_type(a->dtype), 0, e);
        if (a->role == KB_SCRATCH) {
            scratch[i] = c->work[0][i];
            addresses[i] = scratch[i].address;
        }
        if (failed || (s->ref[i].address && kb_op_guard_fill(&d->ops, &s->ref[i], e)))
            return -1;
    }
    return 0;
}

// Everything that a reference promises: whole results, nothing beside them, inputs as they were.
static int check_reference(struct kb_data *d, const struct kb_case_data *c, const struct kb_set *s, int arg,
                           struct kb_error *e)
{
    const struct kb_arg *a = &d->bench->args[arg];
    struct kb_guard_report guard;
    uint64_t unwritten = 0, first = 0, hash;
    if (s->input[arg].address) {
        if (kb_op_hash(&d->ops, &s->input[arg], &hash, e))
            return -1;
        if (hash != s->hash[arg])
            return kb_fail(e, a->name, NULL, "the reference itself changes its input");
    }
    if (!s->ref[arg].address)
        return 0;
    if (kb_op_guard_check(&d->ops, &s->ref[arg], &guard, e) ||
        (a->role == KB_OUTPUT && kb_op_count_poison(&d->ops, &s->ref[arg], (uint64_t)c->elements[arg],
                                                    kb_reference_type(a->dtype), 0, &unwritten, &first, e)))
        return -1;
    if (guard.changed)
        return kb_fail(e, a->name, NULL, "the reference itself writes outside of the array: %llu bytes, at byte %lld",
                       (unsigned long long)guard.changed, (long long)guard.first);
    if (unwritten && kb_dtype_is_float(a->dtype)) // an integer may happen to have the pattern's value
        return kb_fail(e, a->name, NULL, "the reference itself never writes %llu of %lld elements, first at %llu",
                       (unsigned long long)unwritten, (long long)c->elements[arg], (unsigned long long)first);
    return 0;
}

static int results_of_kernels(struct kb_data *d, struct kb_case_data *c, const struct kb_set *s, struct kb_error *e)
{
    size_t args = (size_t)d->bench->arg_count;
    uint64_t *addresses = kb_alloc(args * sizeof *addresses);
    struct kb_buffer *scratch = kb_alloc(args * sizeof *scratch);
    struct kb_error inner = {0};
    int failed = reset_results(d, c, s, scratch, addresses, e) || d->device->ops->sync(d->device, e);
    if (!failed) {
        int64_t start = kb_now_us();
        double spent = kb_spent_us(d);
        failed = kb_plan_launch_all(&d->reference, &c->reference, &d->bench->reference.program, d->bench, addresses,
                                    &inner) ||
                 d->device->ops->sync(d->device, &inner);
        c->reference_us = (double)(kb_now_us() - start);
        c->reference_spent_us = kb_spent_us(d) - spent;
        if (failed)
            by_itself(e, "reference", &inner);
    }
    free(addresses);
    free(scratch);
    for (int i = 0; !failed && i < d->bench->arg_count; i++)
        failed = check_reference(d, c, s, i, e);
    return failed ? -1 : 0;
}

static int load_results(struct kb_data *d, const struct kb_case_data *c, const struct kb_set *s, struct kb_error *e)
{
    int found = 0;
    for (int i = 0; i < d->bench->arg_count; i++) {
        if (!s->ref[i].address)
            continue;
        if (found++)
            return kb_fail(e, d->bench->args[i].name, NULL, "a .npy reference serves benches with one output only");
        if (upload(d, c, i, kb_reference_type(d->bench->args[i].dtype), d->bench->reference.file, &s->ref[i], e))
            return -1;
    }
    return 0;
}

static int find_scales(struct kb_data *d, const struct kb_case_data *c, const struct kb_set *s, struct kb_error *e)
{
    for (int i = 0; i < d->bench->arg_count; i++) {
        if (!s->scale[i].address || !s->scale[i].bytes)
            continue;
        uint64_t group = kb_scale_group(d->bench->args[i].ndim, c->shape[i]), groups = s->scale[i].bytes / 8;
        double *scales = kb_alloc(s->scale[i].bytes), sum = 0;
        int failed = kb_op_group_scale(&d->ops, &s->ref[i], (uint64_t)c->elements[i], group, &s->scale[i], e) ||
                     d->device->ops->to_host(d->device, scales, s->scale[i].address, s->scale[i].bytes, e);
        for (uint64_t g = 0; !failed && g < groups; g++)
            sum += scales[g] * scales[g];
        s->fallback[i] = sqrt(sum / (double)groups);
        free(scales);
        if (failed)
            return -1;
    }
    return 0;
}

int kb_set_results(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, struct kb_error *e)
{
    enum kb_reference_kind kind = d->bench->reference.kind;
    if (d->on_reference)
        d->on_reference(d->on_reference_context, c, true);
    int failed = kind == KB_REFERENCE_KERNEL    ? results_of_kernels(d, c, s, e)
                 : kind == KB_REFERENCE_COMMAND ? kb_command_reference(d, c, s, e)
                                                : load_results(d, c, s, e);
    if (failed && !kb_data_was_stopped(d) && d->device->fault.kind != KB_FAULT_MEMORY)
        d->reference_failed = true;
    if (d->on_reference)
        d->on_reference(d->on_reference_context, c, false);
    return failed;
}

int kb_set_reference(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, struct kb_error *e)
{
    kb_mask_forget(s);
    s->probed = false;
    return kb_set_results(d, c, s, e) || find_scales(d, c, s, e) ? -1 : 0;
}

static int fill_numbered(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, uint64_t base, struct kb_error *e)
{
    s->ready = false;
    s->verified = 0;
    s->number = ++c->next_number;
    s->base = base;
    d->counter++;
    if (kb_set_inputs(d, c, s, e) || (d->has_reference && kb_set_reference(d, c, s, e)))
        return -1;
    s->has_reference = d->has_reference;
    s->ready = true;
    return 0;
}

int kb_set_fill(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, struct kb_error *e)
{
    return fill_numbered(d, c, s, 0, e);
}

int kb_set_touch(struct kb_data *d, struct kb_case_data *c, struct kb_set *s, struct kb_error *e)
{
    if (s->base) // a difference to a difference has no number: whole again first
        return kb_set_fill(d, c, s, e);
    return fill_numbered(d, c, s, s->number, e);
}
