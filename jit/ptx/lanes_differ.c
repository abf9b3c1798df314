// Check "full": lanes that store different values to one address in one instruction. One of them stays, and PTX does
// not say which.
#include "jit/ptx/memory.h"

#include <inttypes.h>
#include <stdio.h>

// The data register's value of a lane, as far as it is stored.
static uint64_t stored_value(const struct ptx_warp *w, const struct ptx_op *o, uint32_t lane, unsigned k,
                             uint32_t bytes)
{
    bool wide = o->wide || o->elem == PTX_B64;
    uint64_t value = wide ? ptx_u64(w, ptx_operand(o, k + 1))[lane] : ptx_u32(w, ptx_operand(o, k + 1))[lane];
    return bytes < 8 ? value & ((1ull << bytes * 8) - 1) : value;
}

static bool same_values(const struct ptx_warp *w, const struct ptx_op *o, uint32_t a, uint32_t b, uint32_t part)
{
    for (unsigned k = 0; k < o->vec; k++)
        if (stored_value(w, o, a, k, part) != stored_value(w, o, b, k, part))
            return false;
    return true;
}

// "0-7, 16"
static void list_lanes(uint32_t lanes, char *text, size_t size)
{
    size_t n = 0;
    for (uint32_t i = 0; i < PTX_LANES && n < size; i++) {
        uint32_t first = i;
        if (!(lanes >> i & 1))
            continue;
        while (i + 1 < PTX_LANES && lanes >> (i + 1) & 1)
            i++;
        n += (size_t)snprintf(text + n, size - n, "%s%u", n ? ", " : "", first);
        if (i > first && n < size)
            n += (size_t)snprintf(text + n, size - n, "-%u", i);
    }
}

static void name_element(const struct ptx_warp *w, uint64_t host, uint32_t unit, char *text, size_t size)
{
    const struct ptx_launch *l = w->thread->launch;
    uint64_t shared = (uint64_t)w->cta->shared, at = host - shared;
    const struct ptx_allocation *a = ptx_space_find(l->space, host);
    snprintf(text, size, "one address");
    if (a)
        snprintf(text, size, "%s[%" PRIu64 "]", ptx_plain_name(a->name), (host - a->low) / unit);
    for (int i = 0; i < l->range_count && host >= shared; i++)
        if (at >= l->ranges[i].low && at < l->ranges[i].high)
            snprintf(text, size, "%s[%" PRIu64 "]", ptx_plain_name(l->ranges[i].name), (at - l->ranges[i].low) / unit);
}

void ptx_compare_lanes(struct ptx_warp *w, const struct ptx_op *o, const struct ptx_access *x)
{
    uint32_t part = x->bytes / o->vec;
    for (uint32_t rest = x->mask; rest;) {
        uint32_t first = (uint32_t)__builtin_ctz(rest), same = 0;
        bool differ = false;
        PTX_ACTIVE (rest, i)
            if (x->address[i] == x->address[first]) {
                same |= 1u << i;
                differ |= !same_values(w, o, first, i, part);
            }
        rest &= ~same;
        if (!differ)
            continue;
        char where[160], lanes[160];
        name_element(w, x->address[first], part, where, sizeof where);
        list_lanes(same, lanes, sizeof lanes);
        ptx_note(w, o->loc, "lanes_differ", "lanes %s store different values to %s in one instruction", lanes, where);
        return;
    }
}
