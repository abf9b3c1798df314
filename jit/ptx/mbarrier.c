// Barriers in shared memory: a 64-bit word that holds the arrivals still awaited, the number awaited in each phase, and
// the phase in the top bit. The layout is ours: PTX leaves it open.
#include "jit/ptx/async.h"
#include "jit/ptx/lanes.h"
#include "jit/ptx/memory.h"

#define ACTIVE(i) for (uint32_t m_ = mask, i; m_ && ((i = (uint32_t)__builtin_ctz(m_)), 1); m_ &= m_ - 1)
#define PENDING(word) ((word)&0xfffff)
#define EXPECTED(word) ((word) >> 20 & 0xfffff)
#define PHASE(word) ((word) >> 63)
#define WORD(phase, expected, pending) ((uint64_t)(phase) << 63 | (uint64_t)(expected) << 20 | (uint64_t)(pending))

static uint64_t *word_at(struct ptx_warp *w, const struct ptx_op *o, uint32_t lane)
{
    uint64_t address =
        o->base32 ? ptx_u32(w, o->r[1])[lane] + (uint32_t)o->imm : ptx_u64(w, o->r[1])[lane] + (uint64_t)o->imm;
    if (address & 7) {
        ptx_fault(w, o, (int)lane, "CUDA_ERROR_MISALIGNED_ADDRESS", "a barrier object at 0x%llx, not a multiple of 8",
                  (unsigned long long)address);
        return NULL;
    }
    return (uint64_t *)ptx_resolve_in(w, o, (int)lane, address, 8);
}

static void arrive(uint64_t *word, uint32_t count, bool drop)
{
    uint64_t expected = EXPECTED(*word) - (drop ? count : 0), pending = PENDING(*word) - count, phase = PHASE(*word);
    if (pending == 0) {
        phase ^= 1;
        pending = expected;
    }
    *word = WORD(phase, expected, pending);
}

static void mbarrier_init(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    ACTIVE(i)
    {
        uint64_t *word = word_at(w, o, i);
        if (!word)
            return;
        uint32_t count = ptx_u32(w, o->r[2])[i] & 0xfffff;
        *word = WORD(0, count, count);
    }
}

static void mbarrier_inval(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    ACTIVE(i)
    if (!word_at(w, o, i))
        return;
}

static void mbarrier_arrive(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    ptx_shadow_strong(w, mask);
    ACTIVE(i)
    {
        uint64_t *word = word_at(w, o, i);
        if (!word)
            return;
        uint32_t count = ptx_u32(w, o->r[2])[i];
        if (!count || count > PENDING(*word)) {
            ptx_fault(w, o, (int)i, "CUDA_ERROR_LAUNCH_FAILED",
                      "%u arrivals at a barrier object that awaits %u (was it initialised?)", count,
                      (unsigned)PENDING(*word));
            return;
        }
        ptx_u64(w, o->r[0])[i] = *word;
        arrive(word, count, o->sub);
    }
}

// Arrives when the lane's copies are done: they are done now.
static void mbarrier_async(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    ptx_shadow_strong(w, mask);
    ptx_async_finish(w, mask);
    ACTIVE(i)
    {
        uint64_t *word = word_at(w, o, i);
        if (!word)
            return;
        if (o->sub && PENDING(*word)) // without .noinc the awaited number grows by the arrival itself
            arrive(word, 1, false);
    }
}

static void answer(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask, uint32_t bits)
{
    uint32_t *d = ptx_u32(w, o->r[0]);
    *d = (*d & ~mask) | (bits & mask);
}

static void mbarrier_state(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    ptx_shadow_strong(w, mask);
    uint32_t bits = 0;
    ACTIVE(i)
    {
        const uint64_t *word = word_at(w, o, i);
        if (!word)
            return;
        bits |= (uint32_t)(PHASE(*word) != PHASE(ptx_u64(w, o->r[2])[i])) << i;
    }
    answer(w, o, mask, bits);
}

static void mbarrier_parity(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    ptx_shadow_strong(w, mask);
    uint32_t bits = 0;
    ACTIVE(i)
    {
        const uint64_t *word = word_at(w, o, i);
        if (!word)
            return;
        bits |= (uint32_t)(PHASE(*word) != (ptx_u32(w, o->r[2])[i] & 1)) << i;
    }
    answer(w, o, mask, bits);
}

#define E(name) {#name, name},
const struct ptx_handler_entry ptx_mbarrier_handlers[] = {
    E(mbarrier_init) E(mbarrier_inval) E(mbarrier_arrive) E(mbarrier_async) E(mbarrier_state)
        E(mbarrier_parity){NULL, NULL},
};
