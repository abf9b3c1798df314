// The CUDA backend of device.h: memory, copies, events and the cold cache. Modules and launches: cuda_launch.c.
#include "base/memory.h"
#include "jit/cuda_driver.h"

#include <stdlib.h>

enum { ALIGNMENT = 256 };

static struct kb_cuda_device *of(struct kb_device *device)
{
    return (struct kb_cuda_device *)device;
}

static int cuda_alloc(struct kb_device *device, const struct kb_buffer_spec *spec, struct kb_buffer *out,
                      struct kb_error *e)
{
    struct kb_cuda_device *d = of(device);
    *out = (struct kb_buffer){0};
    if (kb_cuda_alive(d, e))
        return -1;
    size_t before = (spec->guard_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + spec->misalign;
    size_t total = before + spec->bytes + spec->guard_bytes;
    if (total < spec->bytes) {
        d->base.fault = (struct kb_device_fault){.kind = KB_FAULT_MEMORY};
        return kb_fail(e, spec->name, NULL, "a buffer of %zu bytes with its guards does not fit any address space",
                       spec->bytes);
    }
    CUdeviceptr base = 0;
    size_t mapped = total;
    bool apart = kb_cuda_alloc_apart(d, total, &base, &mapped);
    CUresult code = apart ? CUDA_SUCCESS : d->cu->alloc(&base, total ? total : ALIGNMENT);
    if (kb_cuda_check(d, code, e, "cannot allocate %zu bytes%s%s", total, spec->name ? " for " : "",
                      spec->name ? spec->name : ""))
        return -1;
    *out = (struct kb_buffer){.address = base + before,
                              .bytes = spec->bytes,
                              .guard_bytes = spec->guard_bytes,
                              .base = base,
                              .total = apart ? mapped : total,
                              .apart = apart};
    return 0;
}

static void cuda_free(struct kb_device *device, struct kb_buffer *buffer)
{
    struct kb_cuda_device *d = of(device);
    if (buffer->base && d->fatal.kind == KB_FAULT_NONE && buffer->apart)
        kb_cuda_free_apart(d, buffer->base, buffer->total);
    else if (buffer->base && d->fatal.kind == KB_FAULT_NONE)
        d->cu->free(buffer->base);
    *buffer = (struct kb_buffer){0};
}

static int cuda_memory(struct kb_device *device, size_t *free_bytes, size_t *total_bytes, struct kb_error *e)
{
    struct kb_cuda_device *d = of(device);
    *free_bytes = *total_bytes = 0;
    if (kb_cuda_alive(d, e))
        return -1;
    return kb_cuda_check(d, d->cu->memory_info(free_bytes, total_bytes), e, "cannot ask for the free memory");
}

static int cuda_sync(struct kb_device *device, struct kb_error *e)
{
    struct kb_cuda_device *d = of(device);
    if (kb_cuda_alive(d, e))
        return -1;
    return kb_cuda_check(d, d->cu->stream_sync(d->stream), e, "the work on the GPU failed");
}

static int cuda_to_device(struct kb_device *device, uint64_t to, const void *from, size_t bytes, struct kb_error *e)
{
    struct kb_cuda_device *d = of(device);
    if (kb_cuda_alive(d, e))
        return -1;
    if (!bytes)
        return 0;
    // From pageable memory this returns once the bytes were staged, so the caller may reuse them.
    return kb_cuda_check(d, d->cu->copy_to_device(to, from, bytes, d->stream), e, "copy of %zu bytes to the GPU",
                         bytes);
}

static int cuda_to_host(struct kb_device *device, void *to, uint64_t from, size_t bytes, struct kb_error *e)
{
    struct kb_cuda_device *d = of(device);
    if (kb_cuda_alive(d, e))
        return -1;
    if (bytes &&
        kb_cuda_check(d, d->cu->copy_to_host(to, from, bytes, d->stream), e, "copy of %zu bytes from the GPU", bytes))
        return -1;
    return cuda_sync(device, e);
}

static int cuda_copy(struct kb_device *device, uint64_t to, uint64_t from, size_t bytes, struct kb_error *e)
{
    struct kb_cuda_device *d = of(device);
    if (kb_cuda_alive(d, e))
        return -1;
    if (!bytes)
        return 0;
    return kb_cuda_check(d, d->cu->copy(to, from, bytes, d->stream), e, "copy of %zu bytes on the GPU", bytes);
}

static int cuda_fill(struct kb_device *device, uint64_t to, uint8_t byte, size_t bytes, struct kb_error *e)
{
    struct kb_cuda_device *d = of(device);
    if (kb_cuda_alive(d, e))
        return -1;
    if (!bytes)
        return 0;
    return kb_cuda_check(d, d->cu->set_bytes(to, byte, bytes, d->stream), e, "fill of %zu bytes", bytes);
}

static int cuda_time_begin(struct kb_device *device, struct kb_error *e)
{
    struct kb_cuda_device *d = of(device);
    if (kb_cuda_alive(d, e))
        return -1;
    return kb_cuda_check(d, d->cu->event_record(d->begin, d->stream), e, "recording the first event");
}

static int cuda_time_end(struct kb_device *device, double *us, struct kb_error *e)
{
    struct kb_cuda_device *d = of(device);
    float ms = 0;
    if (kb_cuda_alive(d, e) ||
        kb_cuda_check(d, d->cu->event_record(d->end, d->stream), e, "recording the last event") ||
        kb_cuda_check(d, d->cu->event_sync(d->end), e, "the timed work failed") ||
        kb_cuda_check(d, d->cu->event_elapsed(&ms, d->begin, d->end), e, "reading the events"))
        return -1;
    *us = (double)ms * 1000;
    return 0;
}

static int flush_buffer(struct kb_cuda_device *d, struct kb_error *e)
{
    if (d->flush_buffer)
        return 0;
    // Where the driver does not tell the size, 64 MiB covers every cache known.
    size_t l2 = d->base.info.l2_bytes ? d->base.info.l2_bytes : (size_t)64 << 20;
    d->flush_bytes = 2 * l2;
    return kb_cuda_check(d, d->cu->alloc(&d->flush_buffer, d->flush_bytes), e,
                         "cannot allocate %zu bytes to flush the L2 cache with", d->flush_bytes);
}

// The reset belongs to no stream. It must come behind the kernel that left persisting lines and before the writes that
// evict them, hence the wait. Where it is not allowed (MPS, virtual GPUs), persisting lines are not either.
static int reset_persisting(struct kb_cuda_device *d, struct kb_error *e)
{
    if (!d->base.info.persisting_l2_bytes || !d->cu->reset_persisting || d->cannot_reset)
        return 0;
    if (cuda_sync(&d->base, e))
        return -1;
    CUresult code = d->cu->reset_persisting();
    d->cannot_reset = code == CUDA_ERROR_NOT_SUPPORTED || code == CUDA_ERROR_NOT_PERMITTED;
    return d->cannot_reset ? 0 : kb_cuda_check(d, code, e, "resetting the persisting lines of the L2 cache");
}

static int cuda_flush(struct kb_device *device, struct kb_error *e)
{
    struct kb_cuda_device *d = of(device);
    if (kb_cuda_alive(d, e) || flush_buffer(d, e) || reset_persisting(d, e))
        return -1;
    return kb_cuda_check(d, d->cu->set_words(d->flush_buffer, 0, d->flush_bytes / 4, d->stream), e,
                         "flushing the L2 cache");
}

void *kb_device_context(struct kb_device *device)
{
    return device->info.kind == KB_DEVICE_CUDA ? of(device)->context : NULL;
}

static void cuda_close(struct kb_device *device)
{
    struct kb_cuda_device *d = of(device);
    if (d->fatal.kind == KB_FAULT_NONE && d->context) { // a lost context is left to the end of the process
        d->cu->stream_sync(d->stream);
        if (d->flush_buffer)
            d->cu->free(d->flush_buffer);
        if (d->begin)
            d->cu->event_destroy(d->begin);
        if (d->end)
            d->cu->event_destroy(d->end);
        if (d->stream)
            d->cu->stream_destroy(d->stream);
        d->cu->context_release(d->device);
    }
    free(d);
}

const struct kb_device_ops kb_cuda_ops = {
    .alloc = cuda_alloc,
    .free = cuda_free,
    .memory = cuda_memory,
    .to_device = cuda_to_device,
    .to_host = cuda_to_host,
    .copy = cuda_copy,
    .fill = cuda_fill,
    .undefined = NULL,
    .load = kb_cuda_load,
    .unload = kb_cuda_unload,
    .symbol = kb_cuda_symbol,
    .variable = kb_cuda_variable,
    .module_memory = kb_cuda_module_memory,
    .kernel_info = kb_cuda_kernel_info,
    .occupancy = kb_cuda_occupancy,
    .launch = kb_cuda_launch,
    .sync = cuda_sync,
    .time_begin = cuda_time_begin,
    .time_end = cuda_time_end,
    .flush = cuda_flush,
    .facts = NULL,
    .close = cuda_close,
};
