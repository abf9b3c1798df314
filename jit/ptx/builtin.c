#include "jit/ptx/builtin.h"

#include "base/memory.h"
#include "jit/ptx/async.h"
#include "jit/ptx/lanes.h"
#include "jit/ptx/memory.h"
#include "jit/ptx/undefined.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUTPUT_LIMIT = 1 << 20, LONGEST_TEXT = 4096 };

static uint64_t argument(struct ptx_warp *w, const struct ptx_op *o, uint32_t lane, int n)
{
    const struct ptx_call *call = (const struct ptx_call *)(uintptr_t)o->imm;
    if (n >= call->arg_count)
        return 0;
    uint64_t value = 0;
    const struct ptx_var *v = call->args[n];
    size_t base = w->split[w->current].frame->local_base + v->place;
    memcpy(&value, w->local + (size_t)lane * w->local_bytes + base, v->bytes < 8 ? v->bytes : 8);
    return value;
}

static void put_result(struct ptx_warp *w, const struct ptx_op *o, uint32_t lane, uint64_t value)
{
    const struct ptx_call *call = (const struct ptx_call *)(uintptr_t)o->imm;
    if (!call->result_count)
        return;
    const struct ptx_var *v = call->results[0];
    size_t base = w->split[w->current].frame->local_base + v->place;
    memcpy(w->local + (size_t)lane * w->local_bytes + base, &value, v->bytes < 8 ? v->bytes : 8);
    ptx_shadow_local(w, lane, base, v->bytes);
}

// A text of device memory, at most size - 1 characters; false after a fault.
static bool read_text(struct ptx_warp *w, const struct ptx_op *o, uint32_t lane, uint64_t address, char *to,
                      size_t size)
{
    size_t n = 0;
    for (; n + 1 < size; n++) {
        const char *at = ptx_resolve(w, o, (int)lane, address + n, 1);
        if (!at)
            return false;
        if (!*at)
            break;
        to[n] = *at;
    }
    to[n] = 0;
    return true;
}

struct printing {
    char text[LONGEST_TEXT];
    size_t size;
    int pieces;
};

static void put_text(struct printing *p, const char *s)
{
    size_t n = strlen(s), room = sizeof p->text - 1 - p->size;
    n = n > room ? room : n;
    memcpy(p->text + p->size, s, n);
    p->size += n;
    p->text[p->size] = 0;
}

// One conversion ("%-8.3f") with the value at *offset of the argument block.
static bool convert(struct ptx_warp *w, const struct ptx_op *o, uint32_t lane, struct printing *p, const char *spec,
                    uint64_t block, uint64_t *offset)
{
    char kind = spec[strlen(spec) - 1], format[48], piece[512];
    bool wide = strstr(spec, "ll") || strchr(spec, 'l') || strchr(spec, 'z') || strchr(spec, 'j') || strchr(spec, 't');
    bool eight = wide || strchr("eEfFgGaAsp", kind);
    *offset = eight ? (*offset + 7) & ~7ull : *offset;
    const char *at = ptx_resolve(w, o, (int)lane, block + *offset, eight ? 8 : 4);
    if (!at)
        return false;
    uint64_t bits = 0;
    memcpy(&bits, at, eight ? 8 : 4);
    *offset += eight ? 8 : 4;
    // The flags and widths stay, the length is ours.
    size_t n = strspn(spec + 1, "-+ #0123456789.");
    n = n > 24 ? 24 : n;
    snprintf(format, sizeof format, "%.*s", (int)(n + 1), spec);
    size_t f = strlen(format);
    if (kind == 's') {
        char text[400];
        if (!read_text(w, o, lane, bits, text, sizeof text))
            return false;
        snprintf(format + f, sizeof format - f, "s");
        snprintf(piece, sizeof piece, format, text);
    } else if (strchr("eEfFgGaA", kind)) {
        double value;
        memcpy(&value, &bits, 8);
        snprintf(format + f, sizeof format - f, "%c", kind);
        snprintf(piece, sizeof piece, format, value);
    } else if (kind == 'c') {
        snprintf(format + f, sizeof format - f, "c");
        snprintf(piece, sizeof piece, format, (int)bits);
    } else if (kind == 'p') {
        snprintf(piece, sizeof piece, "0x%" PRIx64, bits);
    } else {
        if (!wide && strchr("di", kind))
            bits = (uint64_t)(int32_t)bits;
        snprintf(format + f, sizeof format - f, "ll%c", kind);
        snprintf(piece, sizeof piece, format, (long long)bits);
    }
    put_text(p, piece);
    return true;
}

static bool print_lane(struct ptx_warp *w, const struct ptx_op *o, uint32_t lane, struct printing *p)
{
    char format[LONGEST_TEXT];
    if (!read_text(w, o, lane, argument(w, o, lane, 0), format, sizeof format))
        return false;
    uint64_t block = argument(w, o, lane, 1), offset = 0;
    for (const char *s = format; *s;) {
        char spec[32] = {*s, 0};
        size_t n = strspn(s + 1, "-+ #0123456789.hlLjztq*");
        if (*s != '%' || !s[1] || s[1] == '%' || !s[n + 1] || n > sizeof spec - 3 ||
            !strchr("diouxXeEfFgGaAcsp", s[n + 1]) || memchr(s + 1, '*', n)) {
            put_text(p, spec);
            s += *s == '%' && s[1] == '%' ? 2 : 1;
            continue;
        }
        snprintf(spec, sizeof spec, "%.*s", (int)(n + 2), s);
        if (!convert(w, o, lane, p, spec, block, &offset))
            return false;
        p->pieces++;
        s += n + 2;
    }
    return true;
}

static void call_vprintf(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    struct ptx_launch *l = w->thread->launch;
    PTX_ACTIVE (mask, i) {
        struct printing p = {.size = 0};
        if (!print_lane(w, o, i, &p))
            return;
        pthread_mutex_lock(&l->lock);
        struct ptx_output *out = l->output;
        if (out->size + p.size > OUTPUT_LIMIT) {
            out->cut++;
        } else {
            if (out->size + p.size + 1 > out->capacity) {
                out->capacity = (out->size + p.size + 1) * 2;
                out->text = kb_realloc(out->text, out->capacity);
            }
            memcpy(out->text + out->size, p.text, p.size);
            out->size += p.size;
        }
        pthread_mutex_unlock(&l->lock);
        put_result(w, o, i, (uint64_t)p.pieces);
    }
}

void ptx_output_flush(struct ptx_output *out)
{
    if (out->size)
        fwrite(out->text, 1, out->size, stdout);
    if (out->cut)
        printf("[the output of %" PRIu64 " further calls of printf was dropped]\n", out->cut);
    if (out->size || out->cut)
        fflush(stdout);
    free(out->text);
    *out = (struct ptx_output){0};
}

static void call_assertfail(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    uint32_t lane = (uint32_t)__builtin_ctz(mask);
    char message[160] = "", file[200] = "", function[160] = "";
    if (!read_text(w, o, lane, argument(w, o, lane, 0), message, sizeof message) ||
        !read_text(w, o, lane, argument(w, o, lane, 1), file, sizeof file) ||
        !read_text(w, o, lane, argument(w, o, lane, 3), function, sizeof function))
        return;
    ptx_fault(w, o, (int)lane, "CUDA_ERROR_ASSERT", "assertion `%s` failed at %s:%u in %s", message, file,
              (unsigned)argument(w, o, lane, 2), function);
}

void ptx_refused(struct ptx_warp *w, const struct kb_error *why)
{
    struct ptx_launch *l = w->thread->launch;
    pthread_mutex_lock(&l->lock);
    if (!l->failed) {
        l->failed = l->refused = true;
        l->fault_name = "CUDA_ERROR_NOT_SUPPORTED";
        l->fault_code = 801;
        l->fault = *why;
    }
    pthread_mutex_unlock(&l->lock);
    atomic_store(&l->stop, true);
    w->thread->stop = true;
}

static void refused(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    (void)mask;
    ptx_refused(w, (const struct kb_error *)(uintptr_t)o->imm);
}

static void trap(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    ptx_fault(w, o, __builtin_ctz(mask), "CUDA_ERROR_LAUNCH_FAILED", "the kernel ran into a trap instruction");
}

// The heap of device malloc is one allocation, HEAP_BYTES as in the CUDA runtime. What lies where is known here and not
// in front of the blocks, where a kernel could overwrite it.
enum { HEAP_BYTES = 8 << 20, HEAP_GAP = 16 };
struct ptx_heap_block {
    size_t at, bytes;
    bool is_free;
};

void ptx_heap_open(struct ptx_heap *h, struct ptx_space_table *space)
{
    if (h->memory)
        return;
    h->memory = aligned_alloc(256, HEAP_BYTES);
    if (!h->memory)
        abort();
    h->used = 0;
    h->allocation = (struct ptx_allocation){.element_bytes = 1, .name = "the heap of device malloc"};
    h->allocation.low = h->allocation.outer_low = (uint64_t)h->memory;
    h->allocation.high = h->allocation.outer_high = h->allocation.low + HEAP_BYTES;
    ptx_space_add(space, &h->allocation);
}

void ptx_heap_close(struct ptx_heap *h, struct ptx_space_table *space)
{
    ptx_space_remove(space, &h->allocation);
    free(h->allocation.undefined);
    free(h->blocks);
    free(h->memory);
}

static uint64_t heap_alloc(struct ptx_launch *l, uint64_t bytes)
{
    struct ptx_heap *h = l->heap;
    struct ptx_heap_block *b = NULL;
    if (bytes > HEAP_BYTES)
        return 0;
    bytes = ((bytes + 15) & ~15ull) + HEAP_GAP;
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < h->count && !b; i++) // the first free block that is large enough
        if (h->blocks[i].is_free && h->blocks[i].bytes >= bytes)
            b = &h->blocks[i];
    if (!b && h->used + bytes <= HEAP_BYTES) {
        KB_GROW(h->blocks, h->count, h->cap);
        b = &h->blocks[h->count++];
        *b = (struct ptx_heap_block){.at = h->used, .bytes = bytes};
        h->used += bytes;
    }
    uint64_t address = b ? (uint64_t)h->memory + b->at : 0;
    if (b)
        b->is_free = false;
    pthread_mutex_unlock(&l->lock);
    return address;
}

static bool heap_release(struct ptx_launch *l, uint64_t address)
{
    struct ptx_heap *h = l->heap;
    bool known = false;
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < h->count && !known; i++) {
        known = (uint64_t)h->memory + h->blocks[i].at == address && !h->blocks[i].is_free;
        h->blocks[i].is_free |= known;
    }
    pthread_mutex_unlock(&l->lock);
    return known;
}

static void call_malloc(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    PTX_ACTIVE (mask, i) {
        uint64_t bytes = argument(w, o, i, 0);
        uint64_t address = heap_alloc(w->thread->launch, bytes);
        if (address)
            memset((void *)address, 0x5b, bytes); // nothing survives in what was given back
        if (address && w->thread->launch->check == PTX_CHECK_FULL)
            ptx_undefine(&w->thread->launch->heap->allocation, address, bytes);
        put_result(w, o, i, address);
    }
}

static void call_free(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    PTX_ACTIVE (mask, i) {
        uint64_t address = argument(w, o, i, 0);
        if (address && !heap_release(w->thread->launch, address)) {
            ptx_fault(w, o, (int)i, "CUDA_ERROR_LAUNCH_FAILED", "free(0x%" PRIx64 "), which malloc did not give",
                      address);
            return;
        }
    }
}

const struct ptx_handler_entry ptx_builtin_handlers[] = {
    {"call_vprintf", call_vprintf},
    {"call___assertfail", call_assertfail},
    {"call_malloc", call_malloc},
    {"call_free", call_free},
    {"trap", trap},
    {"refused", refused},
    {NULL, NULL},
};
