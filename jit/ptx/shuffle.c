// Across lanes. The scheduler has brought all lanes of the member mask here before these run.
#include "jit/ptx/async.h"
#include "jit/ptx/lanes.h"
#include "jit/ptx/numbers.h"

#include <string.h>

#define H(name) static void name(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)

static void put_predicate(struct ptx_warp *w, uint32_t offset, uint32_t mask, uint32_t bits)
{
    uint32_t *d = ptx_u32(w, offset);
    *d = (*d & ~mask) | (bits & mask);
}

enum { UP, DOWN, BFLY, IDX };

H(shfl)
{
    uint32_t a[PTX_LANES], from[PTX_LANES], valid = 0;
    const uint32_t *b = ptx_u32(w, o->r[2]), *c = ptx_u32(w, o->r[3]);
    uint32_t *d = ptx_u32(w, o->r[0]);
    memcpy(a, ptx_u32(w, o->r[1]), sizeof a);
    for (int i = 0; i < PTX_LANES; i++) {
        int lane = i, bval = (int)(b[i] & 31), cval = (int)(c[i] & 31), segment = (int)(c[i] >> 8 & 31);
        int most = (lane & segment) | (cval & ~segment), least = lane & segment, j;
        bool ok;
        switch (o->sub) {
        case UP:
            j = lane - bval;
            ok = j >= most;
            break;
        case DOWN:
            j = lane + bval;
            ok = j <= most;
            break;
        case BFLY:
            j = lane ^ bval;
            ok = j <= most;
            break;
        default:
            j = least | (bval & ~segment);
            ok = j <= most;
        }
        from[i] = ok ? (uint32_t)j & 31 : (uint32_t)lane;
        valid |= (uint32_t)ok << i;
    }
    PTX_ACTIVE (mask, i) {
        if (!(mask >> from[i] & 1) && !w->shuffle_noted) {
            w->shuffle_noted = true;
            ptx_note(w, o->loc, "shuffle_inactive",
                     "lane %u reads from lane %u, which does not take part: the value is undefined", i, from[i]);
        }
        d[i] = a[from[i]];
    }
    put_predicate(w, o->more[0], mask, valid);
}

H(vote)
{
    uint32_t p = *ptx_u32(w, o->r[1]) & mask;
    bool yes = o->sub == 0 ? p == mask : o->sub == 1 ? p != 0 : p == mask || p == 0;
    put_predicate(w, o->r[0], mask, yes ? mask : 0);
}

H(ballot)
{
    uint32_t p = *ptx_u32(w, o->r[1]) & mask;
    PTX_ACTIVE (mask, i)
        ptx_u32(w, o->r[0])[i] = p;
}

static void match(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask, const uint64_t *a)
{
    uint32_t result[PTX_LANES], all = 0;
    PTX_ACTIVE (mask, i) {
        uint32_t same = 0;
        for (uint32_t m = mask; m; m &= m - 1)
            same |= a[__builtin_ctz(m)] == a[i] ? m & -m : 0;
        result[i] = o->sub ? (same == mask ? mask : 0) : same;
        all |= same == mask ? 1u << i : 0;
    }
    PTX_ACTIVE (mask, i)
        ptx_u32(w, o->r[0])[i] = result[i];
    put_predicate(w, o->r[2], mask, all);
}

H(match_b32)
{
    uint64_t a[PTX_LANES];
    for (int i = 0; i < PTX_LANES; i++)
        a[i] = ptx_u32(w, o->r[1])[i];
    match(w, o, mask, a);
}

H(match_b64)
{
    uint64_t a[PTX_LANES];
    memcpy(a, ptx_u64(w, o->r[1]), sizeof a);
    match(w, o, mask, a);
}

static uint32_t reduce(unsigned op, bool is_signed, uint32_t x, uint32_t y)
{
    switch (op) {
    case 0:
        return x + y;
    case 1:
        return is_signed ? ((int32_t)x < (int32_t)y ? x : y) : (x < y ? x : y);
    case 2:
        return is_signed ? ((int32_t)x > (int32_t)y ? x : y) : (x > y ? x : y);
    case 3:
        return x & y;
    case 4:
        return x | y;
    default:
        return x ^ y;
    }
}

H(redux)
{
    const uint32_t *a = ptx_u32(w, o->r[1]);
    uint32_t sum = a[__builtin_ctz(mask)];
    for (uint32_t m = mask & (mask - 1); m; m &= m - 1)
        sum = reduce(o->sub & 15, o->sub >> 4 & 1, sum, a[__builtin_ctz(m)]);
    PTX_ACTIVE (mask, i)
        ptx_u32(w, o->r[0])[i] = sum;
}

H(redux_f32)
{
    const uint32_t *a = ptx_u32(w, o->r[1]);
    uint32_t keep = o->sub >> 6 & 1 ? 0x7fffffffu : 0xffffffffu;
    float best = f32_bits(a[__builtin_ctz(mask)] & keep);
    bool nan = best != best;
    for (uint32_t m = mask & (mask - 1); m; m &= m - 1) {
        float x = f32_bits(a[__builtin_ctz(m)] & keep);
        nan |= x != x;
        best = (o->sub & 15) == 1 ? min_f32(best, x) : max_f32(best, x);
    }
    if (nan && o->sub >> 5 & 1)
        best = f32_bits(0x7fffffffu);
    PTX_ACTIVE (mask, i)
        ptx_u32(w, o->r[0])[i] = bits_f32(best);
}

H(activemask)
{
    PTX_ACTIVE (mask, i)
        ptx_u32(w, o->r[0])[i] = mask;
}

H(elect)
{
    uint32_t leader = (uint32_t)__builtin_ctz(mask);
    PTX_ACTIVE (mask, i)
        ptx_u32(w, o->r[0])[i] = leader;
    put_predicate(w, o->r[1], mask, 1u << leader);
}

H(warp_barrier)
{
    (void)w, (void)o, (void)mask;
}

H(fence)
{
    ptx_shadow_fence(w, o, mask);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#define E(name) {#name, name},
const struct ptx_handler_entry ptx_warp_handlers[] = {
    E(shfl) E(vote) E(ballot) E(match_b32) E(match_b64) E(redux) E(redux_f32) E(activemask) E(elect) E(warp_barrier)
        E(fence){NULL, NULL},
};
