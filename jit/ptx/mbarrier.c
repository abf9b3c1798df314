// Barriers in shared memory: a 64-bit word that holds the arrivals still awaited, the number awaited in each phase, the
// bytes of bulk copies still awaited, and the phase in the top bit. The layout is ours: PTX leaves it open.
#include "jit/ptx/async.h"
#include "jit/ptx/lanes.h"
#include "jit/ptx/memory.h"

struct object {
    uint32_t pending, expected; // 20 bits each
    int32_t bytes;              // 21 bits: copies may come before they are announced
    uint32_t phase;
};

static struct object unpack(uint64_t word)
{
    return (struct object){.pending = word & 0xfffff,
                           .expected = word >> 20 & 0xfffff,
                           .bytes = (int32_t)((uint32_t)(word >> 40) << 11) >> 11,
                           .phase = (uint32_t)(word >> 63)};
}

// A phase is over when nothing is awaited any more.
static void update(uint64_t *word, struct object x)
{
    if (!x.pending && !x.bytes) {
        x.phase ^= 1;
        x.pending = x.expected;
    }
    *word = (uint64_t)x.phase << 63 | (uint64_t)((uint32_t)x.bytes & 0x1fffff) << 40 | (uint64_t)x.expected << 20 |
            x.pending;
}

uint64_t *ptx_mbarrier_at(struct ptx_warp *w, const struct ptx_op *o, uint32_t lane, uint64_t address)
{
    if (address & 7) {
        ptx_fault(w, o, (int)lane, "CUDA_ERROR_MISALIGNED_ADDRESS", "a barrier object at 0x%llx, not a multiple of 8",
                  (unsigned long long)address);
        return NULL;
    }
    return (uint64_t *)ptx_resolve_in(w, o, (int)lane, address, 8);
}

static uint64_t *word_at(struct ptx_warp *w, const struct ptx_op *o, uint32_t lane)
{
    uint64_t address =
        o->base32 ? ptx_u32(w, o->r[1])[lane] + (uint32_t)o->imm : ptx_u64(w, o->r[1])[lane] + (uint64_t)o->imm;
    return ptx_mbarrier_at(w, o, lane, address);
}

static void arrive(uint64_t *word, uint32_t count, bool drop, uint32_t bytes)
{
    struct object x = unpack(*word);
    x.expected -= drop ? count : 0;
    x.pending -= count;
    x.bytes += (int32_t)bytes;
    update(word, x);
}

void ptx_mbarrier_complete(uint64_t *word, uint32_t bytes)
{
    struct object x = unpack(*word);
    x.bytes -= (int32_t)bytes;
    update(word, x);
}

static void mbarrier_init(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    PTX_ACTIVE (mask, i) {
        uint64_t *word = word_at(w, o, i);
        if (!word)
            return;
        uint32_t count = ptx_u32(w, o->r[2])[i] & 0xfffff;
        *word = (uint64_t)count << 20 | count;
    }
}

static void mbarrier_inval(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    PTX_ACTIVE (mask, i)
        if (!word_at(w, o, i))
            return;
}

static void mbarrier_arrive(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    PTX_ACTIVE (mask, i) {
        uint64_t *word = word_at(w, o, i);
        if (!word)
            return;
        uint32_t count = ptx_u32(w, o->r[2])[i], pending = unpack(*word).pending;
        if (!count || count > pending) {
            ptx_fault(w, o, (int)i, "CUDA_ERROR_LAUNCH_FAILED",
                      "%u arrivals at a barrier object that awaits %u (was it initialised?)", count, pending);
            return;
        }
        if (o->order.releases)
            ptx_shadow_signal(w, i, word);
        ptx_u64(w, o->r[0])[i] = *word;
        arrive(word, count, o->sub, ptx_u32(w, o->r[3])[i]);
    }
}

// sub: bytes are announced, else they have come.
static void mbarrier_bytes(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    PTX_ACTIVE (mask, i) {
        uint64_t *word = word_at(w, o, i);
        if (!word)
            return;
        uint32_t bytes = ptx_u32(w, o->r[2])[i];
        ptx_mbarrier_complete(word, o->sub ? 0u - bytes : bytes);
    }
}

// Arrives when the lane's copies are done: they are done now.
static void mbarrier_async(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    ptx_async_finish(w, mask);
    PTX_ACTIVE (mask, i) {
        uint64_t *word = word_at(w, o, i);
        if (!word)
            return;
        ptx_shadow_signal(w, i, word);
        if (o->sub && unpack(*word).pending) // without .noinc the awaited number grows by the arrival itself
            arrive(word, 1, false, 0);
    }
}

static void answer(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask, uint32_t bits)
{
    uint32_t *d = ptx_u32(w, o->r[0]);
    *d = (*d & ~mask) | (bits & mask);
}

static void mbarrier_state(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    uint32_t bits = 0;
    PTX_ACTIVE (mask, i) {
        const uint64_t *word = word_at(w, o, i);
        if (!word)
            return;
        ptx_bulk_wait(w->cta, word);
        bool over = *word >> 63 != ptx_u64(w, o->r[2])[i] >> 63;
        if (over && o->order.acquires)
            ptx_shadow_observe(w, i, word);
        bits |= (uint32_t)over << i;
    }
    answer(w, o, mask, bits);
}

static void mbarrier_parity(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    uint32_t bits = 0;
    PTX_ACTIVE (mask, i) {
        const uint64_t *word = word_at(w, o, i);
        if (!word)
            return;
        ptx_bulk_wait(w->cta, word);
        bool over = *word >> 63 != (ptx_u32(w, o->r[2])[i] & 1);
        if (over && o->order.acquires)
            ptx_shadow_observe(w, i, word);
        bits |= (uint32_t)over << i;
    }
    answer(w, o, mask, bits);
}

#define E(name) {#name, name},
const struct ptx_handler_entry ptx_mbarrier_handlers[] = {
    E(mbarrier_init) E(mbarrier_inval) E(mbarrier_arrive) E(mbarrier_bytes) E(mbarrier_async) E(mbarrier_state)
        E(mbarrier_parity){NULL, NULL},
};
