#include "jit/ptx/undefined.h"

#include "base/memory.h"

#include <string.h>

static uint64_t word_count(const struct ptx_allocation *a)
{
    return (a->high - a->low + 63) / 64;
}

// The bits of word k that belong to [first, end).
static uint64_t bits_of(uint64_t k, uint64_t first, uint64_t end)
{
    uint64_t mask = ~0ull;
    if (first > k * 64)
        mask &= ~0ull << (first - k * 64);
    if (end < (k + 1) * 64)
        mask &= ~0ull >> ((k + 1) * 64 - end);
    return mask;
}

void ptx_undefine(struct ptx_allocation *a, uint64_t address, uint64_t bytes)
{
    uint64_t first = address - a->low, end = first + bytes;
    if (!bytes)
        return;
    if (!a->undefined)
        a->undefined = kb_alloc(word_count(a) * sizeof *a->undefined);
    for (uint64_t k = first / 64; k * 64 < end; k++)
        a->undefined[k] |= bits_of(k, first, end);
}

void ptx_define(struct ptx_allocation *a, uint64_t address, uint64_t bytes)
{
    uint64_t first = address - a->low, end = first + bytes;
    for (uint64_t k = first / 64; a->undefined && k * 64 < end; k++)
        a->undefined[k] &= ~bits_of(k, first, end);
}

bool ptx_is_undefined(const struct ptx_allocation *a, uint64_t address, uint64_t bytes)
{
    uint64_t first = address - a->low, end = first + bytes;
    if (!a->undefined || !bytes)
        return false;
    for (uint64_t k = first / 64; k * 64 < end; k++) {
        uint64_t bits = bits_of(k, first, end);
        if ((a->undefined[k] & bits) != bits)
            return false;
    }
    return true;
}
