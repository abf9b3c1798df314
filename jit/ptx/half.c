// Rarer operations on f16 and bf16, single and in pairs; lanes.def has the arithmetic.
#include "jit/ptx/lanes.h"
#include "jit/ptx/numbers.h"

typedef uint32_t half_function(uint32_t a, uint32_t b, uint32_t c);

// Applies f to the one or two halves of each lane.
PTX_INLINE void apply(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask, bool pair, half_function *f)
{
    uint32_t *d = ptx_u32(w, o->r[0]);
    const uint32_t *a = ptx_u32(w, o->r[1]);
    const uint32_t *b = o->operand_count > 2 ? ptx_u32(w, o->r[2]) : a;
    const uint32_t *c = o->operand_count > 3 ? ptx_u32(w, o->r[3]) : a;
    PTX_ACTIVE (mask, i) {
        uint32_t low = f(a[i] & 0xffff, b[i] & 0xffff, c[i] & 0xffff);
        d[i] = pair ? f(a[i] >> 16, b[i] >> 16, c[i] >> 16) << 16 | low : low;
    }
}

#define BOTH(name, suffix, expression)                                                                                 \
    static uint32_t f_##name##_##suffix(uint32_t a, uint32_t b, uint32_t c)                                            \
    {                                                                                                                  \
        (void)b, (void)c;                                                                                              \
        return (expression);                                                                                           \
    }                                                                                                                  \
    static void name##_##suffix(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)                             \
    {                                                                                                                  \
        apply(w, o, mask, false, f_##name##_##suffix);                                                                 \
    }                                                                                                                  \
    static void name##_##suffix##x2(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)                         \
    {                                                                                                                  \
        apply(w, o, mask, true, f_##name##_##suffix);                                                                  \
    }

#define WIDE(x) ptx_widen(x, FORMAT)
#define NARROW(x) ptx_narrow(x, FORMAT, PTX_RN, false)

static uint32_t nan_half(uint32_t a, uint32_t b, uint32_t r, struct ptx_format f)
{
    double x = ptx_widen(a, f), y = ptx_widen(b, f);
    return x != x || y != y ? 0x7fff : r;
}

static uint32_t saturate(uint32_t a, struct ptx_format f)
{
    double x = ptx_widen(a, f);
    return ptx_narrow(x > 0 ? (x < 1 ? x : 1) : 0, f, PTX_RN, false);
}

static uint32_t rectify(uint32_t a, struct ptx_format f)
{
    double x = ptx_widen(a, f);
    return x != x ? 0x7fff : x > 0 ? a : 0;
}

#define FAMILY(suffix)                                                                                                 \
    BOTH(minnan, suffix, nan_half(a, b, suffix##_min(a, b), FORMAT))                                                   \
    BOTH(maxnan, suffix, nan_half(a, b, suffix##_max(a, b), FORMAT))                                                   \
    BOTH(ex2, suffix, NARROW(exp2(WIDE(a))))                                                                           \
    BOTH(tanh, suffix, NARROW(tanh(WIDE(a))))                                                                          \
    BOTH(sat, suffix, saturate(a, FORMAT))                                                                             \
    BOTH(relu, suffix, rectify(a, FORMAT))

#define FORMAT ptx_f16
FAMILY(f16)
#undef FORMAT
#define FORMAT ptx_bf16
FAMILY(bf16)
#undef FORMAT

// Subnormals to zero of the same sign.
BOTH(ftz, f16, a & 0x7c00 ? a : a & 0x8000)
BOTH(ftz, bf16, a & 0x7f80 ? a : a & 0x8000)

// Numbers of the comparisons as decode_alu.c lists them.
static bool holds(unsigned which, double a, double b)
{
    bool unordered = a != a || b != b;
    switch (which) {
    case 0:
        return a == b;
    case 1:
        return !unordered && a != b;
    case 2:
    case 6:
        return a < b;
    case 3:
    case 7:
        return a <= b;
    case 4:
    case 8:
        return a > b;
    case 5:
    case 9:
        return a >= b;
    case 10:
        return unordered || a == b;
    case 11:
        return unordered || a != b;
    case 12:
        return unordered || a < b;
    case 13:
        return unordered || a <= b;
    case 14:
        return unordered || a > b;
    case 15:
        return unordered || a >= b;
    case 16:
        return !unordered;
    default:
        return unordered;
    }
}

static void set_pair(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask, struct ptx_format f, uint32_t one)
{
    bool real = o->sub >> 8;
    PTX_ACTIVE (mask, i) {
        uint32_t a = ptx_u32(w, o->r[1])[i], b = ptx_u32(w, o->r[2])[i], r = 0;
        for (int k = 0; k < 32; k += 16)
            if (holds(o->sub & 255, ptx_widen(a >> k & 0xffff, f), ptx_widen(b >> k & 0xffff, f)))
                r |= (real ? one : 0xffff) << k;
        ptx_u32(w, o->r[0])[i] = r;
    }
}
static void set_f16x2(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    set_pair(w, o, mask, ptx_f16, 0x3c00);
}
static void set_bf16x2(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    set_pair(w, o, mask, ptx_bf16, 0x3f80);
}

#define E(name) {#name, name},
#define E2(name, suffix) {#name "_" #suffix, name##_##suffix}, {#name "_" #suffix "x2", name##_##suffix##x2},
#define ENTRIES(suffix)                                                                                                \
    E2(minnan, suffix) E2(maxnan, suffix) E2(ex2, suffix) E2(tanh, suffix) E2(sat, suffix) E2(relu, suffix)
const struct ptx_handler_entry ptx_half_handlers[] = {
    ENTRIES(f16) ENTRIES(bf16) E2(ftz, f16) E2(ftz, bf16) E(set_f16x2) E(set_bf16x2){NULL, NULL},
};
