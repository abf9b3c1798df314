#include "verify/hold.h"
#include "base/memory.h"

#include <stdlib.h>

static int save(struct kb_hold *h, struct kb_error *e)
{
    const struct kb_device_ops *ops = h->ops->device->ops;
    struct kb_buffer_spec spec = {.name = "module memory", .dtype = KB_U8, .ndim = 1};
    size_t at = 0;
    for (int i = 0; i < h->count; i++)
        spec.bytes += (h->pieces[i].memory.bytes + 15) / 16 * 16;
    spec.shape[0] = (int64_t)spec.bytes;
    if (ops->alloc(h->ops->device, &spec, &h->copies, e))
        return -1;
    for (int i = 0; i < h->count; i++) {
        struct kb_hold_piece *p = &h->pieces[i];
        p->saved = h->copies.address + at;
        at += (p->memory.bytes + 15) / 16 * 16;
        if (kb_op_copy(h->ops, p->saved, p->memory.address, p->memory.bytes, e))
            return -1;
    }
    return 0;
}

int kb_hold_open(struct kb_ops *ops, const struct kb_program *p, bool copies, struct kb_hold *h, struct kb_error *e)
{
    *h = (struct kb_hold){.ops = ops};
    const struct kb_module_memory *memory = p->device->ops->module_memory(p->module, &h->count, &h->whole);
    h->pieces = kb_alloc((size_t)h->count * sizeof *h->pieces + 1);
    int failed = 0;
    for (int i = 0; i < h->count && !failed; i++) {
        h->pieces[i] = (struct kb_hold_piece){
            .memory = {.address = memory[i].address, .base = memory[i].address, .bytes = memory[i].bytes},
            .constant = memory[i].constant};
        h->pieces[i].memory.host = ops->kernels ? NULL : (void *)memory[i].address;
        failed = kb_op_hash(ops, &h->pieces[i].memory, &h->pieces[i].hash, e);
    }
    if (!failed && (!copies || !h->count || !save(h, e)))
        return 0;
    kb_hold_close(h);
    return -1;
}

void kb_hold_close(struct kb_hold *h)
{
    if (h->copies.address)
        h->ops->device->ops->free(h->ops->device, &h->copies);
    free(h->pieces);
    *h = (struct kb_hold){0};
}

int kb_hold_look(struct kb_hold *h, struct kb_error *e)
{
    for (int i = 0; i < h->count; i++) {
        uint64_t hash;
        if (h->pieces[i].written)
            continue;
        if (kb_op_hash(h->ops, &h->pieces[i].memory, &hash, e))
            return -1;
        h->pieces[i].written = hash != h->pieces[i].hash;
        h->written = h->written || h->pieces[i].written;
    }
    return 0;
}

int kb_hold_restore(struct kb_hold *h, struct kb_error *e)
{
    for (int i = 0; i < h->count; i++) {
        const struct kb_hold_piece *p = &h->pieces[i];
        if (p->written && p->saved && kb_op_copy(h->ops, p->memory.address, p->saved, p->memory.bytes, e))
            return -1;
    }
    return 0;
}

bool kb_hold_constant_written(const struct kb_hold *h)
{
    for (int i = 0; i < h->count; i++)
        if (h->pieces[i].constant && h->pieces[i].written)
            return true;
    return false;
}
