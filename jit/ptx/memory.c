#include "jit/ptx/memory.h"

#include "base/memory.h"
#include "jit/ptx/lanes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ptx_space_add(struct ptx_space_table *t, struct ptx_allocation *a)
{
    KB_GROW(t->items, t->count, t->cap);
    uint32_t i = t->count++;
    for (; i && t->items[i - 1]->outer_low > a->outer_low; i--)
        t->items[i] = t->items[i - 1];
    t->items[i] = a;
}

void ptx_space_remove(struct ptx_space_table *t, struct ptx_allocation *a)
{
    for (uint32_t i = 0; i < t->count; i++)
        if (t->items[i] == a) {
            memmove(t->items + i, t->items + i + 1, (t->count - i - 1) * sizeof *t->items);
            t->count--;
            return;
        }
}

// The last allocation that begins at or before the address.
static struct ptx_allocation *at_or_before(const struct ptx_space_table *t, uint64_t address)
{
    uint32_t low = 0, high = t->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (t->items[middle]->outer_low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? t->items[low - 1] : NULL;
}

struct ptx_allocation *ptx_space_find(const struct ptx_space_table *t, uint64_t address)
{
    struct ptx_allocation *a = at_or_before(t, address);
    return a && address < a->outer_high ? a : NULL;
}

// Within this distance a stray address is told by the allocation's name.
enum { NEAR_BYTES = 1 << 20 };

static const struct ptx_allocation *nearest(const struct ptx_space_table *t, uint64_t address)
{
    const struct ptx_allocation *a = at_or_before(t, address);
    if (a && address < a->outer_high + NEAR_BYTES)
        return a;
    for (uint32_t i = 0; i < t->count; i++)
        if (t->items[i]->outer_low > address)
            return t->items[i]->outer_low - address < NEAR_BYTES ? t->items[i] : NULL;
    return NULL;
}

static void add_shape(const struct ptx_allocation *a, char *text, size_t size)
{
    size_t n = 0;
    text[0] = 0;
    for (int i = 0; a->ndim > 1 && i < a->ndim && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%" PRId64, i ? "x" : " of shape ", a->shape[i]);
}

// Of a variable of the module nothing but its code tells what an element is; where that does not either, the access
// does.
static int64_t unit_of(const struct ptx_allocation *a, uint32_t value)
{
    bool bytes = a->variable && a->element_bytes == 1 && (a->high - a->low) % value == 0;
    return bytes ? value : a->element_bytes ? a->element_bytes : 1;
}

// What lies where an access begins: "y[16777216], 1 past its end", "x[1000], 8 of them past its end". bytes: all that
// it touches; value: one of a vector.
static void describe(const struct ptx_allocation *a, uint64_t address, uint32_t bytes, uint32_t value, char *text,
                     size_t size)
{
    char shape[128], what[200];
    int64_t unit = unit_of(a, value), offset = (int64_t)(address - a->low);
    int64_t index = offset >= 0 ? offset / unit : -((-offset + unit - 1) / unit);
    int64_t count = (int64_t)(a->high - a->low) / unit;
    add_shape(a, shape, sizeof shape);
    snprintf(what, sizeof what, "(%" PRId64 " elements%s)", count, shape);
    int n = snprintf(text, size, "%s[%" PRId64 "]", ptx_plain_name(a->name), index);
    if (n < 0 || (size_t)n >= size)
        return;
    text += n;
    size -= (size_t)n;
    if (address >= a->high)
        snprintf(text, size, ", %" PRId64 " past its end %s", index - count + 1, what);
    else if (address < a->low && address + bytes <= a->low)
        snprintf(text, size, ", %" PRId64 " before its start %s", -index, what);
    else if (address < a->low)
        snprintf(text, size, ", %" PRIu64 " of them before its start %s", a->low - address, what);
    else if (address + bytes > a->high)
        snprintf(text, size, ", %" PRIu64 " of them past its end %s", address + bytes - a->high, what);
}

static uint32_t value_bytes(const struct ptx_op *o, uint32_t bytes)
{
    return o->class != PTX_CLASS_ATOMIC && o->vec > 1 && bytes % o->vec == 0 ? bytes / o->vec : bytes;
}

static const char *verb(const struct ptx_op *o)
{
    return o->class == PTX_CLASS_ATOMIC ? "atomic operation" : o->write ? "write" : "read";
}

static void fault_global(struct ptx_warp *w, const struct ptx_op *o, int lane, uint64_t address, uint32_t bytes)
{
    const struct ptx_allocation *a = nearest(w->thread->launch->space, address);
    char where[400];
    if (address < 4096)
        snprintf(where, sizeof where, "a null pointer (address 0x%" PRIx64 ")", address);
    else if (!a)
        snprintf(where, sizeof where, "address 0x%" PRIx64 ", which lies in no allocation", address);
    else
        describe(a, address, bytes, value_bytes(o, bytes), where, sizeof where);
    ptx_fault(w, o, lane, "CUDA_ERROR_ILLEGAL_ADDRESS", "%s of %u bytes at %s", verb(o), bytes, where);
}

// What else than a plain load reaches a variable may set it.
static void note_use(struct ptx_allocation *a, const struct ptx_op *o)
{
    bool loads = !o->write && !strncmp(o->name, "ld", 2);
    if (!a->variable || a->set)
        return;
    if (!loads)
        a->set = true;
    else if (!a->read_loc)
        a->read_loc = o->loc;
}

static bool in_global(struct ptx_warp *w, const struct ptx_op *o, int lane, uint64_t address, uint32_t bytes)
{
    struct ptx_allocation *a = ptx_space_find(w->thread->launch->space, address);
    if (!a || address < a->low || address + bytes > a->high) {
        fault_global(w, o, lane, address, bytes);
        return false;
    }
    if (a->read_only && o->write) {
        char where[400];
        describe(a, address, bytes, value_bytes(o, bytes), where, sizeof where);
        ptx_fault(w, o, lane, "CUDA_ERROR_ILLEGAL_ADDRESS", "%s at %s, which %s", verb(o), where,
                  a->variable ? "is constant" : "is an input: kernels must not change it");
        return false;
    }
    if (w->thread->launch->check == PTX_CHECK_FULL)
        note_use(a, o);
    return true;
}

bool ptx_find_global(struct ptx_warp *w, const struct ptx_op *o, const struct ptx_access *x, uint64_t low,
                     uint64_t high)
{
    const struct ptx_launch *l = w->thread->launch;
    struct ptx_allocation *a = ptx_space_find(l->space, low);
    // high < low: some address lies at the end of all addresses.
    if (a && low >= a->low && high <= a->high && high > low && !(a->read_only && o->write)) {
        struct ptx_op_count *c = &w->thread->ops[o->id];
        if (l->check == PTX_CHECK_FULL) {
            note_use(a, o);
        } else if (o->space != PTX_SPACE_GENERIC || a->high < PTX_TAG_SHARED) {
            c->low = a->low;
            c->high = a->high;
        }
        return true;
    }
    PTX_ACTIVE (x->mask, i)
        if (!in_global(w, o, (int)i, x->address[i], x->bytes))
            return false;
    return true;
}

static const struct ptx_shared_range *shared_range(const struct ptx_launch *l, uint64_t address)
{
    for (int i = 0; i < l->range_count; i++)
        if (address >= l->ranges[i].low && address < l->ranges[i].high)
            return &l->ranges[i];
    return NULL;
}

static void fault_shared(struct ptx_warp *w, const struct ptx_op *o, int lane, uint64_t address, uint32_t bytes)
{
    const struct ptx_launch *l = w->thread->launch;
    const struct ptx_shared_range *best = NULL;
    uint64_t distance = 0;
    for (int i = 0; i < l->range_count; i++) {
        const struct ptx_shared_range *r = &l->ranges[i];
        uint64_t d = address < r->low ? r->low - address : address >= r->high ? address - r->high + 1 : 0;
        if (!best || d < distance) {
            best = r;
            distance = d;
        }
    }
    if (!best) {
        ptx_fault(w, o, lane, "CUDA_ERROR_ILLEGAL_ADDRESS",
                  "%s of %u bytes in shared memory, but the kernel has none (the launch gives 0 dynamic bytes)",
                  verb(o), bytes);
        return;
    }
    struct ptx_allocation a = {
        .variable = true, .low = best->low, .high = best->high, .element_bytes = best->element_bytes};
    snprintf(a.name, sizeof a.name, "%s", ptx_plain_name(best->name));
    char where[400];
    describe(&a, address, bytes, value_bytes(o, bytes), where, sizeof where);
    ptx_fault(w, o, lane, "CUDA_ERROR_ILLEGAL_ADDRESS", "%s of %u bytes in shared memory at %s", verb(o), bytes, where);
}

bool ptx_find_shared(struct ptx_warp *w, const struct ptx_op *o, const struct ptx_access *x, uint64_t low,
                     uint64_t high)
{
    const struct ptx_launch *l = w->thread->launch;
    const struct ptx_shared_range *r = shared_range(l, low);
    if (r && high <= r->high && high > low) {
        struct ptx_op_count *c = &w->thread->ops[o->id];
        if (l->check != PTX_CHECK_FULL && o->space == PTX_SPACE_SHARED) {
            c->low = r->low;
            c->high = r->high;
        }
        return true;
    }
    PTX_ACTIVE (x->mask, i) {
        r = shared_range(l, x->address[i]);
        if (r && x->address[i] + x->bytes <= r->high)
            continue;
        fault_shared(w, o, (int)i, x->address[i], x->bytes);
        return false;
    }
    return true;
}

static char *resolve_local(struct ptx_warp *w, const struct ptx_op *o, int lane, uint64_t address, uint32_t bytes)
{
    if (address > w->local_bytes || address + bytes > w->local_bytes) {
        ptx_fault(w, o, lane, "CUDA_ERROR_ILLEGAL_ADDRESS",
                  "%s of %u bytes at offset %" PRIu64 " of local memory, which has %u bytes a thread", verb(o), bytes,
                  address, w->local_bytes);
        return NULL;
    }
    return w->local + (size_t)lane * w->local_bytes + address;
}

char *ptx_resolve_in(struct ptx_warp *w, const struct ptx_op *o, int lane, uint64_t address, uint32_t bytes)
{
    const struct ptx_launch *l = w->thread->launch;
    const struct ptx_shared_range *r;
    switch (o->space) {
    case PTX_SPACE_GENERIC:
        return ptx_resolve(w, o, lane, address, bytes);
    case PTX_SPACE_SHARED:
        r = shared_range(l, address);
        if (r && address + bytes <= r->high)
            return w->cta->shared + address;
        fault_shared(w, o, lane, address, bytes);
        return NULL;
    case PTX_SPACE_LOCAL:
        return resolve_local(w, o, lane, address, bytes);
    case PTX_SPACE_PARAM:
        if (address < l->param_bytes && address + bytes <= l->param_bytes)
            return (char *)l->params + address;
        ptx_fault(w, o, lane, "CUDA_ERROR_ILLEGAL_ADDRESS",
                  "%s of %u bytes at offset %" PRIu64 " of the kernel's parameters, which have %zu bytes", verb(o),
                  bytes, address, l->param_bytes);
        return NULL;
    default:
        return in_global(w, o, lane, address, bytes) ? (char *)address : NULL;
    }
}

char *ptx_resolve(struct ptx_warp *w, const struct ptx_op *o, int lane, uint64_t address, uint32_t bytes)
{
    static const uint8_t spaces[] = {PTX_SPACE_GLOBAL, PTX_SPACE_SHARED, PTX_SPACE_LOCAL, PTX_SPACE_PARAM};
    struct ptx_op in = *o;
    uint64_t tag = PTX_TAG(address);
    in.space = tag < 4 ? spaces[tag] : PTX_SPACE_GLOBAL;
    return ptx_resolve_in(w, &in, lane, tag && tag < 4 ? address & (PTX_TAG_SHARED - 1) : address, bytes);
}

void ptx_misaligned(struct ptx_warp *w, const struct ptx_op *o, const struct ptx_access *x)
{
    PTX_ACTIVE (x->mask, i)
        if (x->address[i] & (x->bytes - 1)) {
            uint64_t address = x->address[i];
            char where[400] = "";
            const struct ptx_allocation *a =
                PTX_TAG(address) || o->space == PTX_SPACE_SHARED || o->space == PTX_SPACE_LOCAL
                    ? NULL
                    : ptx_space_find(w->thread->launch->space, address);
            if (a)
                snprintf(where, sizeof where, " (%s + %" PRIu64 " bytes)", a->name, address - a->low);
            ptx_fault(w, o, (int)i, "CUDA_ERROR_MISALIGNED_ADDRESS",
                      "%s of %u bytes at address 0x%" PRIx64 "%s, which is not a multiple of %u", verb(o), x->bytes,
                      address, where, x->bytes);
            return;
        }
}

uint32_t ptx_sectors(const uint64_t *address, uint32_t mask, uint32_t bytes)
{
    uint64_t seen[2 * PTX_LANES];
    uint32_t count = 0;
    uint64_t last = UINT64_MAX;
    PTX_ACTIVE (mask, i)
        for (uint64_t s = address[i] >> 5; s <= (address[i] + bytes - 1) >> 5; s++) {
            if (s == last)
                continue;
            last = s;
            // Most often the newest sector is larger than all before.
            bool old = count && s <= seen[count - 1];
            if (old) {
                uint32_t k = 0;
                while (k < count && seen[k] != s)
                    k++;
                old = k < count;
            }
            if (old)
                continue;
            uint32_t k = count++;
            for (; k && seen[k - 1] > s; k--)
                seen[k] = seen[k - 1];
            seen[k] = s;
        }
    return count;
}

// Lanes are served in groups of 128 bytes; within a group each bank delivers one word at a time.
uint32_t ptx_bank_conflicts(const uint64_t *address, uint32_t mask, uint32_t bytes)
{
    uint32_t group = bytes <= 4 ? 32 : 128 / bytes, conflicts = 0;
    for (uint32_t start = 0; start < PTX_LANES; start += group) {
        uint32_t part = group == 32 ? mask : mask & (((1u << group) - 1) << start);
        uint64_t words[32][32];
        uint8_t used[32] = {0};
        uint32_t most = 1;
        PTX_ACTIVE (part, i)
            for (uint64_t word = address[i] >> 2; word <= (address[i] + bytes - 1) >> 2; word++) {
                uint32_t bank = word & 31, k = 0;
                while (k < used[bank] && words[bank][k] != word)
                    k++;
                if (k < used[bank] || k == 32)
                    continue;
                words[bank][k] = word;
                used[bank]++;
                most = used[bank] > most ? used[bank] : most;
            }
        conflicts += part ? most - 1 : 0;
    }
    return conflicts;
}

static bool finish_shared(struct ptx_warp *w, const struct ptx_op *o, struct ptx_access *x, uint64_t low, uint64_t high)
{
    if (!ptx_find_shared(w, o, x, low, high))
        return false;
    struct ptx_op_count *c = &w->thread->ops[o->id];
    c->requests++;
    if (!x->unit && high - low > x->bytes)
        c->conflicts += ptx_bank_conflicts(x->address, x->mask, x->bytes);
    for (int i = 0; i < PTX_LANES; i++)
        x->address[i] += (uint64_t)w->cta->shared;
    return true;
}

static bool finish_global(struct ptx_warp *w, const struct ptx_op *o, struct ptx_access *x, uint64_t low, uint64_t high)
{
    if (!ptx_find_global(w, o, x, low, high))
        return false;
    struct ptx_op_count *c = &w->thread->ops[o->id];
    c->requests++;
    if (o->space != PTX_SPACE_CONST)
        c->sectors += high - low <= 32 || x->unit ? ((high - 1) >> 5) - (low >> 5) + 1
                                                  : ptx_sectors(x->address, x->mask, x->bytes);
    return true;
}

static bool finish_local(struct ptx_warp *w, const struct ptx_op *o, struct ptx_access *x, uint64_t low, uint64_t high)
{
    if (high > w->local_bytes || low > high) {
        PTX_ACTIVE (x->mask, i)
            if (!resolve_local(w, o, (int)i, x->address[i], x->bytes))
                return false;
    }
    w->thread->ops[o->id].requests++;
    uint64_t base = (uint64_t)w->local;
    for (int i = 0; i < PTX_LANES; i++)
        x->address[i] += base + (uint64_t)i * w->local_bytes;
    x->unit = false;
    return true;
}

static bool finish_lanes(struct ptx_warp *w, const struct ptx_op *o, struct ptx_access *x)
{
    w->thread->ops[o->id].requests++;
    x->unit = false;
    PTX_ACTIVE (x->mask, i) {
        char *host = ptx_resolve_in(w, o, (int)i, x->address[i], x->bytes);
        if (!host)
            return false;
        x->address[i] = (uint64_t)host;
    }
    return true;
}

bool ptx_access_slow(struct ptx_warp *w, const struct ptx_op *o, struct ptx_access *x)
{
    uint64_t low = UINT64_MAX, high = 0, tags = 0, bits = 0;
    for (int i = 0; i < PTX_LANES; i++) {
        uint64_t a = x->address[i];
        low = a < low ? a : low;
        high = a > high ? a : high;
        tags |= PTX_TAG(a);
        bits |= a;
    }
    if (bits & (x->bytes - 1)) {
        ptx_misaligned(w, o, x);
        return false;
    }
    high += x->bytes;
    bool one_space = PTX_TAG(low) == PTX_TAG(high - 1);
    bool ok = false;
    bool full = w->thread->launch->check == PTX_CHECK_FULL;
    if (o->space == PTX_SPACE_GLOBAL || o->space == PTX_SPACE_CONST || (o->space == PTX_SPACE_GENERIC && !tags)) {
        ok = finish_global(w, o, x, low, high);
    } else if (o->space == PTX_SPACE_SHARED) {
        ok = finish_shared(w, o, x, low, high);
    } else if (o->space == PTX_SPACE_GENERIC && one_space && PTX_TAG(low) == PTX_TAG(PTX_TAG_SHARED)) {
        for (int i = 0; i < PTX_LANES; i++)
            x->address[i] &= PTX_TAG_SHARED - 1;
        ok = finish_shared(w, o, x, low & (PTX_TAG_SHARED - 1), high & (PTX_TAG_SHARED - 1));
    } else if (o->space == PTX_SPACE_LOCAL) {
        ok = finish_local(w, o, x, low, high);
    } else {
        ok = finish_lanes(w, o, x);
    }
    if (ok && full)
        ptx_shadow(w, o, x);
    return ok;
}
