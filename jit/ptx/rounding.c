// Directed rounding: rare, so each lane is computed on its own under the host's rounding mode.
#include "jit/ptx/lanes.h"
#include "jit/ptx/numbers.h"

#include <fenv.h>

#pragma GCC optimize("rounding-math", "fp-contract=off", "no-strict-aliasing")

static const int host_modes[] = {[PTX_RN] = FE_TONEAREST,
                                 [PTX_RZ] = FE_TOWARDZERO,
                                 [PTX_RM] = FE_DOWNWARD,
                                 [PTX_RP] = FE_UPWARD,
                                 [PTX_RNA] = FE_TONEAREST};

#define LANE(T, k) (((T *)(w->R + o->r[k]))[i])
// The volatile operands keep the compiler from computing before the mode is set or after it is reset.
#define ROUND(name, TD, TA, canonical, expression)                                                                     \
    static void name(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)                                        \
    {                                                                                                                  \
        fesetround(host_modes[o->sub]);                                                                                \
        PTX_ACTIVE (mask, i) {                                                                                         \
            volatile TA a = LANE(TA, 1), b = o->operand_count > 2 ? LANE(TA, 2) : (TA)0;                               \
            volatile TA c = o->operand_count > 3 ? LANE(TA, 3) : (TA)0;                                                \
            (void)b, (void)c;                                                                                          \
            volatile TD r = (TD)(expression);                                                                          \
            LANE(TD, 0) = canonical(r);                                                                                \
        }                                                                                                              \
        fesetround(FE_TONEAREST);                                                                                      \
    }
#define AS_IT_IS(x) (x)

ROUND(round_add_f32, float, float, canon, a + b)
ROUND(round_sub_f32, float, float, canon, a - b)
ROUND(round_mul_f32, float, float, canon, a *b)
ROUND(round_fma_f32, float, float, canon, fmaf(a, b, c))
ROUND(round_div_f32, float, float, canon, a / b)
ROUND(round_rcp_f32, float, float, canon, 1.0f / a)
ROUND(round_sqrt_f32, float, float, canon, sqrtf(a))
// With .ftz: the sources are flushed already; sums that are subnormal are exact, so add and sub need no care.
ROUND(round_mul_f32_ftz, float, float, AS_IT_IS, flush_tiny(canon(a *b), a * 0x1p64f * b))
ROUND(round_fma_f32_ftz, float, float, AS_IT_IS, flush_tiny(canon(fmaf(a, b, c)), fmaf(a * 0x1p64f, b, c * 0x1p64f)))
ROUND(round_div_f32_ftz, float, float, AS_IT_IS, flush_tiny(canon(a / b), a * 0x1p64f / b))
ROUND(round_rcp_f32_ftz, float, float, AS_IT_IS, flush_tiny(canon(1.0f / a), 0x1p64f / a))
ROUND(round_f32_of_f64_ftz, float, double, AS_IT_IS, flush_tiny(canon((float)a), (float)(a * 0x1p64)))
ROUND(round_add_f64, double, double, AS_IT_IS, a + b)
ROUND(round_sub_f64, double, double, AS_IT_IS, a - b)
ROUND(round_mul_f64, double, double, AS_IT_IS, a *b)
ROUND(round_fma_f64, double, double, AS_IT_IS, fma(a, b, c))
ROUND(round_div_f64, double, double, AS_IT_IS, a / b)
ROUND(round_rcp_f64, double, double, AS_IT_IS, 1.0 / a)
ROUND(round_sqrt_f64, double, double, AS_IT_IS, sqrt(a))
ROUND(round_f32_of_f64, float, double, canon, (float)a)
ROUND(round_f32_of_s32, float, int32_t, AS_IT_IS, (float)a)
ROUND(round_f32_of_u32, float, uint32_t, AS_IT_IS, (float)a)
ROUND(round_f32_of_s64, float, int64_t, AS_IT_IS, (float)a)
ROUND(round_f32_of_u64, float, uint64_t, AS_IT_IS, (float)(long double)a)
ROUND(round_f64_of_s64, double, int64_t, AS_IT_IS, (double)a)
ROUND(round_f64_of_u64, double, uint64_t, AS_IT_IS, (double)(long double)a)
ROUND(round_f64_of_s32, double, int32_t, AS_IT_IS, (double)a)
ROUND(round_f64_of_u32, double, uint32_t, AS_IT_IS, (double)a)

#define E(name) {#name, name},
const struct ptx_handler_entry ptx_round_handlers[] = {
    E(round_add_f32) E(round_sub_f32) E(round_mul_f32) E(round_fma_f32) E(round_div_f32) E(round_rcp_f32)
        E(round_mul_f32_ftz) E(round_fma_f32_ftz) E(round_div_f32_ftz) E(round_rcp_f32_ftz) E(round_f32_of_f64_ftz)
            E(round_sqrt_f32) E(round_add_f64) E(round_sub_f64) E(round_mul_f64) E(round_fma_f64) E(round_div_f64)
                E(round_rcp_f64) E(round_sqrt_f64) E(round_f32_of_f64) E(round_f32_of_s32) E(round_f32_of_u32)
                    E(round_f32_of_s64) E(round_f32_of_u64) E(round_f64_of_s64) E(round_f64_of_u64) E(round_f64_of_s32)
                        E(round_f64_of_u32){NULL, NULL},
};
