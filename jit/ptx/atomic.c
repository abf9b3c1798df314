// Atomic operations are atomic operations of the host, lane by lane in the order of lanes.
#include "jit/ptx/atomic.h"
#include "jit/ptx/lanes.h"
#include "jit/ptx/memory.h"
#include "jit/ptx/numbers.h"

#include <string.h>

static uint64_t add_half(uint64_t x, uint64_t y, struct ptx_format f)
{
    return ptx_narrow(ptx_widen((uint32_t)x & 0xffff, f) + ptx_widen((uint32_t)y & 0xffff, f), f, PTX_RN, false);
}

static uint64_t extreme_half(uint64_t x, uint64_t y, struct ptx_format f, bool least)
{
    double a = ptx_widen((uint32_t)x & 0xffff, f), b = ptx_widen((uint32_t)y & 0xffff, f);
    return ptx_narrow(least ? min_f64(a, b) : max_f64(a, b), f, PTX_RN, false);
}

static uint64_t step_half(unsigned op, uint64_t x, uint64_t y, struct ptx_format f)
{
    return op == PTX_ATOM_ADD ? add_half(x, y, f) : extreme_half(x, y, f, op == PTX_ATOM_MIN);
}

static uint64_t step_float(unsigned op, unsigned type, uint64_t x, uint64_t y)
{
    switch (type) {
    case PTX_ATOM_F32: {
        float a = f32_bits((uint32_t)x), b = f32_bits((uint32_t)y);
        return bits_f32(op == PTX_ATOM_ADD ? canon(a + b) : op == PTX_ATOM_MIN ? min_f32(a, b) : max_f32(a, b));
    }
    case PTX_ATOM_F32_FTZ:
        return bits_f32(flush(canon(flush(f32_bits((uint32_t)x)) + flush(f32_bits((uint32_t)y)))));
    case PTX_ATOM_F64: {
        double a = f64_bits(x), b = f64_bits(y);
        return bits_f64(op == PTX_ATOM_ADD ? a + b : op == PTX_ATOM_MIN ? min_f64(a, b) : max_f64(a, b));
    }
    case PTX_ATOM_F16:
        return step_half(op, x, y, ptx_f16);
    case PTX_ATOM_BF16:
        return step_half(op, x, y, ptx_bf16);
    default: {
        struct ptx_format f = type == PTX_ATOM_F16X2 ? ptx_f16 : ptx_bf16;
        return step_half(op, x >> 16, y >> 16, f) << 16 | step_half(op, x, y, f);
    }
    }
}

static uint64_t extreme(unsigned type, uint64_t x, uint64_t y, bool least)
{
    bool less;
    switch (type) {
    case PTX_ATOM_S32:
        less = (int32_t)x < (int32_t)y;
        break;
    case PTX_ATOM_S64:
        less = (int64_t)x < (int64_t)y;
        break;
    default:
        less = x < y;
    }
    return less == least ? x : y;
}

static uint64_t step(unsigned op, unsigned type, uint64_t x, uint64_t y, uint64_t z)
{
    switch (op) {
    case PTX_ATOM_EXCH:
        return y;
    case PTX_ATOM_CAS:
        return x == y ? z : x;
    case PTX_ATOM_AND:
        return x & y;
    case PTX_ATOM_OR:
        return x | y;
    case PTX_ATOM_XOR:
        return x ^ y;
    case PTX_ATOM_INC:
        return x >= y ? 0 : x + 1;
    case PTX_ATOM_DEC:
        return x == 0 || x > y ? y : x - 1;
    default:
        if (type >= PTX_ATOM_F32)
            return step_float(op, type, x, y);
        return op == PTX_ATOM_ADD ? x + y : extreme(type, x, y, op == PTX_ATOM_MIN);
    }
}

#define EXCHANGE(T)                                                                                                    \
    {                                                                                                                  \
        T old = __atomic_load_n((T *)at, __ATOMIC_RELAXED);                                                            \
        while (!__atomic_compare_exchange_n((T *)at, &old, (T)step(o->sub, type, old, y, z), false, __ATOMIC_SEQ_CST,  \
                                            __ATOMIC_SEQ_CST))                                                         \
            continue;                                                                                                  \
        return old;                                                                                                    \
    }

static uint64_t exchange(const struct ptx_op *o, unsigned type, char *at, uint32_t bytes, uint64_t y, uint64_t z)
{
    if (bytes == 8)
        EXCHANGE(uint64_t)
    if (bytes == 4)
        EXCHANGE(uint32_t)
    EXCHANGE(uint16_t)
}

// Single precision sums in global memory flush subnormals, those in shared memory do not (PTX ISA, "atom").
static uint32_t flushing_lanes(const struct ptx_op *o, const struct ptx_access *x)
{
    uint32_t lanes = 0;
    if (o->elem != PTX_ATOM_F32 || o->sub != PTX_ATOM_ADD)
        return 0;
    for (int i = 0; i < PTX_LANES; i++)
        if (o->space == PTX_SPACE_GLOBAL || (o->space == PTX_SPACE_GENERIC && !PTX_TAG(x->address[i])))
            lanes |= 1u << i;
    return lanes;
}

// False after a fault. *flushes: lanes whose sum is flushed.
static bool find(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask, uint32_t base, uint32_t bytes,
                 struct ptx_access *x, uint32_t *flushes)
{
    *x = (struct ptx_access){.mask = mask, .bytes = bytes, .first = __builtin_ctz(mask)};
    PTX_ACTIVE (mask, i)
        x->address[i] = o->base32 ? ptx_u32(w, base)[i] + (uint32_t)o->imm : ptx_u64(w, base)[i] + (uint64_t)o->imm;
    for (int i = 0; i < PTX_LANES; i++)
        if (!(mask >> i & 1))
            x->address[i] = x->address[x->first];
    *flushes = flushing_lanes(o, x);
    return ptx_access_slow(w, o, x);
}

typedef unsigned __int128 u128;

// Swaps if *at is *old; else tells what it is.
static bool swap128(u128 *at, u128 *old, u128 value)
{
#if defined(__x86_64__)
    uint64_t low = (uint64_t)*old, high = (uint64_t)(*old >> 64);
    bool done;
    __asm__ volatile("lock cmpxchg16b %1" // every x86-64 since 2006
                     : "=@ccz"(done), "+m"(*at), "+a"(low), "+d"(high)
                     : "b"((uint64_t)value), "c"((uint64_t)(value >> 64))
                     : "memory");
    *old = (u128)high << 64 | low;
    return done;
#else
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    bool done = *at == *old;
    *old = *at;
    *at = done ? value : *at;
    pthread_mutex_unlock(&lock);
    return done;
#endif
}

static u128 exchange128(bool compare, u128 *at, u128 y, u128 z)
{
    u128 old = 0;
    while (!swap128(at, &old, !compare ? y : old == y ? z : old))
        continue;
    return old;
}

static void atom128(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    struct ptx_access x;
    uint32_t flushes;
    if (!find(w, o, mask, o->r[2], 16, &x, &flushes))
        return;
    PTX_ACTIVE (mask, i) {
        uint64_t part[4];
        for (unsigned k = 0; k < 4; k++)
            part[k] = ptx_u64(w, ptx_operand(o, k + 3))[i];
        u128 y = (u128)part[1] << 64 | part[0], z = (u128)part[3] << 64 | part[2];
        w->watch.wrote = true;
        u128 old = exchange128(o->sub == PTX_ATOM_CAS, (u128 *)x.address[i], y, z);
        ptx_u64(w, o->r[0])[i] = (uint64_t)old;
        ptx_u64(w, o->r[1])[i] = (uint64_t)(old >> 64);
    }
    w->thread->atomics += (uint32_t)__builtin_popcount(mask);
}

static void atom(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    static const uint8_t sizes[] = {2, 4, 4, 8, 8, 4, 8, 2, 4, 2, 4};
    uint32_t bytes = sizes[o->elem];
    struct ptx_access x;
    uint32_t flushes;
    if (!find(w, o, mask, o->r[1], bytes, &x, &flushes))
        return;
    PTX_ACTIVE (mask, i) {
        char *at = (char *)x.address[i];
        uint64_t y = bytes == 8 ? ptx_u64(w, o->r[2])[i] : ptx_u32(w, o->r[2])[i];
        uint64_t z = bytes == 8 ? ptx_u64(w, o->r[3])[i] : ptx_u32(w, o->r[3])[i];
        uint64_t old = exchange(o, flushes >> i & 1 ? PTX_ATOM_F32_FTZ : o->elem, at, bytes, y, z);
        if (!w->watch.wrote)
            w->watch.wrote = step(o->sub, o->elem, old, y, z) != old;
        if (bytes == 8)
            ptx_u64(w, o->r[0])[i] = old;
        else
            ptx_u32(w, o->r[0])[i] = (uint32_t)old;
    }
    w->thread->atomics += (uint32_t)__builtin_popcount(mask);
}

const struct ptx_handler_entry ptx_atomic_handlers[] = {
    {"atom", atom},
    {"atom128", atom128},
    {NULL, NULL},
};
