// Handlers that need no vector code: predicates, packing, special registers, bit manipulation, parameters.
#include "jit/ptx/lanes.h"
#include "jit/ptx/memory.h"
#include "jit/ptx/numbers.h"

#include <string.h>

#define H(name) static void name(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
#define R32(k) ptx_u32(w, ptx_operand(o, k))
#define R64(k) ptx_u64(w, ptx_operand(o, k))

static void set_predicate(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask, uint32_t bits)
{
    uint32_t *d = ptx_u32(w, o->r[0]);
    *d = (*d & ~mask) | (bits & mask);
}

H(nop)
{
    (void)w, (void)o, (void)mask;
}
H(pset)
{
    set_predicate(w, o, mask, (uint32_t)o->imm);
}
H(pmov)
{
    set_predicate(w, o, mask, *R32(1));
}
H(pnot)
{
    set_predicate(w, o, mask, ~*R32(1));
}
H(pand)
{
    set_predicate(w, o, mask, *R32(1) & *R32(2));
}
H(por)
{
    set_predicate(w, o, mask, *R32(1) | *R32(2));
}
H(pxor)
{
    set_predicate(w, o, mask, *R32(1) ^ *R32(2));
}

// Element k of a packed value of `part` bits.
static void pack(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask, int n, int bits)
{
    int part = bits / n;
    PTX_ACTIVE (mask, i) {
        uint64_t value = 0;
        for (int k = 0; k < n; k++) {
            uint64_t element = R32(k + 1)[i];
            value |= (part < 32 ? element & ((1u << part) - 1) : element) << (k * part);
        }
        if (bits == 64)
            R64(0)[i] = value;
        else
            R32(0)[i] = (uint32_t)value;
    }
}
static void unpack(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask, int n, int bits)
{
    int part = bits / n;
    PTX_ACTIVE (mask, i) {
        uint64_t value = bits == 64 ? R64(n)[i] : R32(n)[i];
        for (int k = 0; k < n; k++) {
            uint64_t element = value >> (k * part);
            R32(k)[i] = (uint32_t)(part < 32 ? element & ((1u << part) - 1) : element);
        }
    }
}
H(pack2_b16)
{
    pack(w, o, mask, 2, 16);
}
H(pack4_b32)
{
    pack(w, o, mask, 4, 32);
}
H(pack4_b64)
{
    pack(w, o, mask, 4, 64);
}
H(unpack2_b16)
{
    unpack(w, o, mask, 2, 16);
}
H(unpack4_b32)
{
    unpack(w, o, mask, 4, 32);
}
H(unpack4_b64)
{
    unpack(w, o, mask, 4, 64);
}

// Kernel parameters are the same for all lanes.
static uint64_t param_value(const struct ptx_warp *w, const struct ptx_op *o)
{
    const uint8_t *p = w->thread->launch->params + o->imm;
    static const uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 8};
    uint64_t value = 0;
    memcpy(&value, p, sizes[o->elem]);
    if (o->elem == PTX_S8)
        value = (uint64_t)(int8_t)value;
    else if (o->elem == PTX_S16)
        value = (uint64_t)(int16_t)value;
    else if (o->elem == PTX_S32)
        value = (uint64_t)(int32_t)value;
    return value;
}
H(param_b32)
{
    uint32_t value = (uint32_t)param_value(w, o), *d = R32(0);
    if (mask == 0xffffffffu)
        for (int i = 0; i < PTX_LANES; i++)
            d[i] = value;
    else
        PTX_ACTIVE (mask, i)
            d[i] = value;
}
H(param_b64)
{
    uint64_t value = param_value(w, o), *d = R64(0);
    if (mask == 0xffffffffu)
        for (int i = 0; i < PTX_LANES; i++)
            d[i] = value;
    else
        PTX_ACTIVE (mask, i)
            d[i] = value;
}
static uint64_t local_base(const struct ptx_warp *w, const struct ptx_op *o)
{
    return w->split[w->current].frame->local_base + (uint64_t)o->imm;
}
H(local_b32)
{
    PTX_ACTIVE (mask, i)
        R32(0)[i] = (uint32_t)local_base(w, o);
}
H(local_b64)
{
    PTX_ACTIVE (mask, i)
        R64(0)[i] = local_base(w, o);
}

// Special registers. sub is the axis.
#define SREG(name, bits, value)                                                                                        \
    H(sreg_##name)                                                                                                     \
    {                                                                                                                  \
        const struct ptx_launch *l = w->thread->launch;                                                                \
        (void)l;                                                                                                       \
        PTX_ACTIVE (mask, i)                                                                                           \
            R##bits(0)[i] = (uint##bits##_t)(value);                                                                   \
    }
SREG(tid, 32, w->tid[o->sub][i])
SREG(ntid, 32, l->block[o->sub])
SREG(ctaid, 32, w->cta->ctaid[o->sub])
SREG(nctaid, 32, l->grid[o->sub])
SREG(laneid, 32, i)
SREG(warpid, 32, w->index)
SREG(nwarpid, 32, l->warps_per_sm)
SREG(nsmid, 32, l->sm_count)
SREG(lanemask_eq, 32, 1u << i)
SREG(lanemask_le, 32, (2u << i) - 1)
SREG(lanemask_lt, 32, (1u << i) - 1)
SREG(lanemask_ge, 32, ~((1u << i) - 1))
SREG(lanemask_gt, 32, ~((2u << i) - 1))
SREG(envreg1, 32, l->workspace >> 32)
SREG(envreg2, 32, l->workspace)
// Shared memory is given in units of 128 bytes.
SREG(total_smem_size, 32, (l->dynamic_shared + l->static_shared + 127) & ~127u)
SREG(dynamic_smem_size, 32, l->dynamic_shared)
SREG(aggr_smem_size, 32, ((l->dynamic_shared + l->static_shared + 127) & ~127u) + PTX_RESERVED_SHARED)
SREG(reserved_smem_offset_begin, 32, 0)
SREG(reserved_smem_offset_end, 32, PTX_RESERVED_SHARED)
SREG(reserved_smem_offset_cap, 32, PTX_RESERVED_SHARED)
SREG(reserved_smem_offset_0, 32, 0)
SREG(reserved_smem_offset_1, 32, PTX_RESERVED_OFFSET_1)
// A launch without clusters has clusters of one block.
SREG(clusterid, 32, w->cta->ctaid[o->sub])
SREG(nclusterid, 32, l->grid[o->sub])
SREG(cluster_ctaid, 32, 0)
SREG(cluster_nctaid, 32, 1)
SREG(cluster_ctarank, 32, 0)
SREG(cluster_nctarank, 32, 1)

H(isconst)
{
    uint32_t bits = 0;
    PTX_ACTIVE (mask, i) {
        const struct ptx_allocation *a = ptx_space_find(w->thread->launch->space, R64(1)[i]);
        bits |= (uint32_t)(a && a->read_only && a->variable) << i;
    }
    set_predicate(w, o, mask, bits);
}

// Integer arithmetic beyond one result.
static void carry_step(const struct ptx_op *o, uint32_t i, uint32_t *carry, bool out)
{
    if (o->sub & 2)
        *carry = (*carry & ~(1u << i)) | (uint32_t)out << i;
}
#define CARRY(name, bits, builtin)                                                                                     \
    H(name)                                                                                                            \
    {                                                                                                                  \
        uint32_t *carry = ptx_u32(w, o->r[3]);                                                                         \
        PTX_ACTIVE (mask, i) {                                                                                         \
            uint##bits##_t sum, in = o->sub & 1 ? *carry >> i & 1 : 0;                                                 \
            bool out = builtin(R##bits(1)[i], R##bits(2)[i], &sum);                                                    \
            out |= builtin(sum, in, &sum);                                                                             \
            R##bits(0)[i] = sum;                                                                                       \
            carry_step(o, i, carry, out);                                                                              \
        }                                                                                                              \
    }
CARRY(add_carry_b32, 32, __builtin_add_overflow)
CARRY(add_carry_b64, 64, __builtin_add_overflow)
CARRY(sub_carry_b32, 32, __builtin_sub_overflow)
CARRY(sub_carry_b64, 64, __builtin_sub_overflow)

static int32_t clamp_s32(int64_t x)
{
    return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (int32_t)x;
}
H(addsat_s32)
{
    PTX_ACTIVE (mask, i)
        R32(0)[i] = (uint32_t)clamp_s32((int64_t)(int32_t)R32(1)[i] + (int32_t)R32(2)[i]);
}
H(subsat_s32)
{
    PTX_ACTIVE (mask, i)
        R32(0)[i] = (uint32_t)clamp_s32((int64_t)(int32_t)R32(1)[i] - (int32_t)R32(2)[i]);
}
static uint32_t part24(uint64_t product, unsigned part)
{
    return (uint32_t)(part ? product >> 16 : product);
}
H(mul24_u32)
{
    PTX_ACTIVE (mask, i)
        R32(0)[i] = part24((uint64_t)(R32(1)[i] & 0xffffff) * (R32(2)[i] & 0xffffff), o->sub);
}
static int64_t low24(uint32_t x)
{
    return (int32_t)(x << 8) >> 8;
}
H(mul24_s32)
{
    PTX_ACTIVE (mask, i)
        R32(0)[i] = part24((uint64_t)(low24(R32(1)[i]) * low24(R32(2)[i])), o->sub);
}

#define PACKED(name, T, expression)                                                                                    \
    H(name)                                                                                                            \
    {                                                                                                                  \
        PTX_ACTIVE (mask, i) {                                                                                         \
            uint32_t x = R32(1)[i], y = R32(2)[i], r = 0;                                                              \
            for (int k = 0; k < 32; k += 16) {                                                                         \
                T a = (T)(x >> k), b = (T)(y >> k);                                                                    \
                r |= (uint32_t)(uint16_t)(expression) << k;                                                            \
            }                                                                                                          \
            R32(0)[i] = r;                                                                                             \
        }                                                                                                              \
    }
PACKED(add_u16x2, uint16_t, a + b)
PACKED(add_s16x2, int16_t, a + b)
PACKED(min_u16x2, uint16_t, a < b ? a : b)
PACKED(max_u16x2, uint16_t, a > b ? a : b)
PACKED(min_s16x2, int16_t, a < b ? a : b)
PACKED(max_s16x2, int16_t, a > b ? a : b)
H(relu_s16x2)
{
    PTX_ACTIVE (mask, i) {
        uint32_t x = R32(1)[i];
        R32(0)[i] = (x & 0x8000 ? 0 : x & 0xffff) | (x >> 31 ? 0 : x & 0xffff0000u);
    }
}

// Bits.
static uint64_t reverse64(uint64_t x)
{
    uint64_t r = 0;
    for (int i = 0; i < 64; i++)
        r |= (x >> i & 1) << (63 - i);
    return r;
}
H(brev_b32)
{
    PTX_ACTIVE (mask, i)
        R32(0)[i] = (uint32_t)(reverse64(R32(1)[i]) >> 32);
}
H(brev_b64)
{
    PTX_ACTIVE (mask, i)
        R64(0)[i] = reverse64(R64(1)[i]);
}
static uint32_t find_bit(uint64_t x, int bits, unsigned sub)
{
    if (sub & 1 && x >> (bits - 1) & 1)
        x = ~x;
    if (bits == 32)
        x = (uint32_t)x;
    if (!x)
        return 0xffffffffu;
    uint32_t position = 63 - (uint32_t)__builtin_clzll(x);
    return sub & 2 ? (uint32_t)bits - 1 - position : position;
}
H(bfind_b32)
{
    PTX_ACTIVE (mask, i)
        R32(0)[i] = find_bit(R32(1)[i], 32, o->sub);
}
H(bfind_b64)
{
    PTX_ACTIVE (mask, i)
        R32(0)[i] = find_bit(R64(1)[i], 64, o->sub);
}
static uint64_t extract(uint64_t a, uint32_t position, uint32_t length, uint32_t bits, bool is_signed)
{
    position &= 0xff;
    length &= 0xff;
    uint32_t top = position + length - 1 < bits - 1 ? position + length - 1 : bits - 1;
    uint64_t sign = is_signed && length ? a >> top & 1 : 0, value = 0;
    if (position < bits && length)
        value = a >> position;
    uint32_t kept = position >= bits ? 0 : bits - position < length ? bits - position : length;
    uint64_t low = kept >= 64 ? ~0ull : (1ull << kept) - 1;
    return (value & low) | (sign ? ~low : 0);
}
H(bfe_b32)
{
    PTX_ACTIVE (mask, i)
        R32(0)[i] = (uint32_t)extract(R32(1)[i], R32(2)[i], R32(3)[i], 32, o->sub);
}
H(bfe_b64)
{
    PTX_ACTIVE (mask, i)
        R64(0)[i] = extract(R64(1)[i], R32(2)[i], R32(3)[i], 64, o->sub);
}
static uint64_t insert(uint64_t a, uint64_t b, uint32_t position, uint32_t length, uint32_t bits)
{
    position &= 0xff;
    length &= 0xff;
    if (position >= bits)
        return b;
    length = length > bits - position ? bits - position : length;
    uint64_t field = (length >= 64 ? ~0ull : (1ull << length) - 1) << position;
    return (b & ~field) | (a << position & field);
}
H(bfi_b32)
{
    PTX_ACTIVE (mask, i)
        R32(0)[i] = (uint32_t)insert(R32(1)[i], R32(2)[i], R32(3)[i], R32(4)[i], 32);
}
H(bfi_b64)
{
    PTX_ACTIVE (mask, i)
        R64(0)[i] = insert(R64(1)[i], R64(2)[i], R32(3)[i], R32(4)[i], 64);
}
// Byte selectors of the modes f4e, b4e, rc8, ecl, ecr, rc16 by the low two bits of c.
static const uint16_t prmt_modes[6][4] = {
    {0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123}, {0x0000, 0x1111, 0x2222, 0x3333},
    {0x3210, 0x3211, 0x3222, 0x3333}, {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232},
};
H(prmt)
{
    PTX_ACTIVE (mask, i) {
        uint64_t bytes = (uint64_t)R32(2)[i] << 32 | R32(1)[i];
        uint32_t c = R32(3)[i], r = 0;
        uint32_t selector = o->sub ? prmt_modes[o->sub - 1][c & 3] : c;
        for (int k = 0; k < 4; k++) {
            uint32_t s = selector >> (4 * k) & 15, byte = (uint32_t)(bytes >> (8 * (s & 7)) & 0xff);
            if (s & 8)
                byte = byte & 0x80 ? 0xff : 0;
            r |= byte << (8 * k);
        }
        R32(0)[i] = r;
    }
}
H(lop3)
{
    uint32_t table = (uint32_t)o->imm;
    const uint32_t *a = R32(1), *b = R32(2), *c = R32(3);
    PTX_ACTIVE (mask, i) {
        uint32_t r = 0;
        for (unsigned k = 0; k < 8; k++)
            if (table >> k & 1)
                r |= (k & 4 ? a[i] : ~a[i]) & (k & 2 ? b[i] : ~b[i]) & (k & 1 ? c[i] : ~c[i]);
        R32(0)[i] = r;
    }
}
static int64_t part_of(uint32_t x, int at, int bits, bool is_signed)
{
    uint32_t part = x >> at & ((1u << bits) - 1);
    return is_signed ? (int32_t)(part << (32 - bits)) >> (32 - bits) : (int64_t)part;
}
H(dp4a)
{
    PTX_ACTIVE (mask, i) {
        int64_t sum = R32(3)[i];
        for (int k = 0; k < 4; k++)
            sum += part_of(R32(1)[i], 8 * k, 8, o->sub & 1) * part_of(R32(2)[i], 8 * k, 8, o->sub & 2);
        R32(0)[i] = (uint32_t)sum;
    }
}
H(dp2a)
{
    PTX_ACTIVE (mask, i) {
        int64_t sum = R32(3)[i];
        int from = o->sub & 4 ? 16 : 0;
        for (int k = 0; k < 2; k++)
            sum += part_of(R32(1)[i], 16 * k, 16, o->sub & 1) * part_of(R32(2)[i], from + 8 * k, 8, o->sub & 2);
        R32(0)[i] = (uint32_t)sum;
    }
}
static uint32_t nth_set(uint32_t bits, uint32_t base, int32_t offset)
{
    base &= 31;
    if (offset == 0)
        return bits >> base & 1 ? base : 0xffffffffu;
    int step = offset > 0 ? 1 : -1, left = offset > 0 ? offset : -offset;
    for (int at = (int)base; at >= 0 && at < 32; at += step)
        if (bits >> at & 1 && --left == 0)
            return (uint32_t)at;
    return 0xffffffffu;
}
H(fns)
{
    PTX_ACTIVE (mask, i)
        R32(0)[i] = nth_set(R32(1)[i], R32(2)[i], (int32_t)R32(3)[i]);
}
H(bmsk)
{
    PTX_ACTIVE (mask, i) {
        uint32_t a = R32(1)[i], b = R32(2)[i];
        if (o->sub) {
            a &= 31;
            b &= 31;
        }
        uint64_t field = b >= 32 ? 0xffffffffull : (1ull << b) - 1;
        R32(0)[i] = a >= 32 ? 0 : (uint32_t)(field << a);
    }
}
H(szext)
{
    PTX_ACTIVE (mask, i) {
        uint32_t a = R32(1)[i], n = R32(2)[i];
        n = o->sub & 1 ? n & 31 : n > 32 ? 32 : n;
        uint32_t low = n >= 32 ? ~0u : (1u << n) - 1;
        bool sign = o->sub & 2 && n && a >> (n - 1) & 1;
        R32(0)[i] = (a & low) | (sign ? ~low : 0);
    }
}

static bool test_class(unsigned which, bool exponent_ones, bool exponent_zero, bool fraction)
{
    switch (which) {
    case 0:
        return !exponent_ones;
    case 1:
        return exponent_ones && !fraction;
    case 2:
        return !(exponent_ones && fraction);
    case 3:
        return exponent_ones && fraction;
    case 4:
        return !exponent_ones && (!exponent_zero || !fraction); // zeros count as normal
    default:
        return exponent_zero && fraction;
    }
}
H(testp_f32)
{
    uint32_t bits = 0;
    PTX_ACTIVE (mask, i) {
        uint32_t x = R32(1)[i], e = x >> 23 & 0xff;
        bits |= (uint32_t)test_class(o->sub, e == 0xff, !e, x & 0x7fffff) << i;
    }
    set_predicate(w, o, mask, bits);
}
H(testp_f64)
{
    uint32_t bits = 0;
    PTX_ACTIVE (mask, i) {
        uint64_t x = R64(1)[i], e = x >> 52 & 0x7ff;
        bits |= (uint32_t)test_class(o->sub, e == 0x7ff, !e, x & 0xfffffffffffffull) << i;
    }
    set_predicate(w, o, mask, bits);
}

// The upper word alone, as rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 take and give it.
H(upper_f64)
{
    PTX_ACTIVE (mask, i) {
        uint32_t x = (uint32_t)(R64(1)[i] >> 32), magnitude = x & 0x7fffffffu;
        if (magnitude > 0x7ff00000u)
            x = 0x7fffffffu;
        else if (magnitude < 0x00100000u)
            x &= 0x80000000u;
        R64(0)[i] = (uint64_t)x << 32;
    }
}

#define E(name) {#name, name},
const struct ptx_handler_entry ptx_plain_handlers[] = {
    E(nop) E(pset) E(pmov) E(pnot) E(pand) E(por) E(pxor) E(pack2_b16) E(pack4_b32) E(pack4_b64) E(unpack2_b16)
        E(unpack4_b32) E(unpack4_b64) E(param_b32) E(param_b64) E(local_b32) E(local_b64) E(sreg_tid) E(sreg_ntid)
            E(sreg_ctaid) E(sreg_nctaid) E(sreg_laneid) E(sreg_warpid) E(sreg_nwarpid) E(sreg_nsmid) E(sreg_lanemask_eq)
                E(sreg_lanemask_le) E(sreg_lanemask_lt) E(sreg_lanemask_ge) E(sreg_lanemask_gt) E(sreg_envreg1)
                    E(sreg_envreg2) E(sreg_total_smem_size) E(sreg_dynamic_smem_size) E(sreg_aggr_smem_size)
                        E(sreg_clusterid) E(sreg_nclusterid) E(sreg_cluster_ctaid) E(sreg_cluster_nctaid)
                            E(sreg_cluster_ctarank) E(sreg_cluster_nctarank) E(sreg_reserved_smem_offset_begin)
                                E(sreg_reserved_smem_offset_end) E(sreg_reserved_smem_offset_cap)
                                    E(sreg_reserved_smem_offset_0) E(sreg_reserved_smem_offset_1) E(isconst)
                                        E(add_carry_b32) E(add_carry_b64) E(sub_carry_b32) E(sub_carry_b64)
                                            E(addsat_s32) E(subsat_s32) E(mul24_u32) E(mul24_s32) E(add_u16x2)
                                                E(add_s16x2) E(min_u16x2) E(max_u16x2) E(min_s16x2) E(max_s16x2)
                                                    E(relu_s16x2) E(brev_b32) E(brev_b64) E(bfind_b32) E(bfind_b64)
                                                        E(bfe_b32) E(bfe_b64) E(bfi_b32) E(bfi_b64) E(prmt) E(lop3)
                                                            E(dp4a) E(dp2a) E(fns) E(bmsk) E(szext) E(testp_f32)
                                                                E(testp_f64) E(upper_f64){NULL, NULL},
};
