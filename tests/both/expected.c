// What C computes for some snippets, so that both devices are held against a third party.
#include "both/both.h"

#include "base/memory.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

static float f32(uint64_t b)
{
    uint32_t low = (uint32_t)b;
    float x;
    memcpy(&x, &low, 4);
    return x;
}
static uint64_t from_f32(float x)
{
    uint32_t b;
    memcpy(&b, &x, 4);
    return x != x ? 0x7fffffff : b;
}
static double f64(uint64_t b)
{
    double x;
    memcpy(&x, &b, 8);
    return x;
}
static uint64_t from_f64(double x)
{
    uint64_t b;
    memcpy(&b, &x, 8);
    return b;
}

static const struct {
    const char *name;
    int which;
} known[] = {{"add.u32 %r20, %r0, %r1", 0},         {"mul.hi.s64 %d20, %d0, %d1", 1},
             {"mad.lo.s32 %r20, %r0, %r1, %r2", 2}, {"popc.b64 %r20, %d0", 3},
             {"sub.sat.s32 %r20, %r0, %r1", 4},     {"mul.wide.s16 %r20, %h0, %h1", 5},
             {"sad.u32 %r20, %r0, %r1, %r2", 6},    {"shr.s64 %d20, %d0, %r1", 7},
             {"fma.rn.f32 %f20, %f0, %f1, %f2", 8}, {"fma.rn.f64 %g20, %g0, %g1, %g2", 9},
             {"div.rn.f64 %g20, %g0, %g1", 10},     {"sqrt.rn.f32 %f20, %f0", 11},
             {"setp.ltu.f64 %p20, %g0, %g1", 12},   {"cvt.rn.f32.s64 %f20, %d0", 13},
             {"add.rp.f64 %g20, %g0, %g1", 14},     {"rem.s32 %r20, %r0, %r1", 15}};

static uint64_t rounded_up(double x, double y)
{
    int mode = fegetround();
    fesetround(FE_UPWARD);
    volatile double a = x, b = y, sum = a + b;
    fesetround(mode);
    return from_f64(sum);
}

static uint64_t clamp_s32(int64_t v)
{
    return (uint32_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
}

static uint64_t compute(int which, uint64_t x, uint64_t y, uint64_t z)
{
    uint32_t a = (uint32_t)x, b = (uint32_t)y, c = (uint32_t)z;
    switch (which) {
    case 0:
        return (uint32_t)(a + b);
    case 1:
        return (uint64_t)(((__int128)(int64_t)x * (int64_t)y) >> 64);
    case 2:
        return (uint32_t)(a * b + c);
    case 3:
        return (uint64_t)__builtin_popcountll(x);
    case 4:
        return clamp_s32((int64_t)(int32_t)a - (int32_t)b);
    case 5:
        return (uint32_t)((int16_t)x * (int16_t)y);
    case 6:
        return (uint32_t)((a > b ? a - b : b - a) + c);
    case 7:
        return (uint64_t)((int64_t)x >> (b > 63 ? 63 : b));
    case 8:
        return from_f32(fmaf(f32(x), f32(y), f32(z)));
    case 9:
        return from_f64(fma(f64(x), f64(y), f64(z)));
    case 10:
        return from_f64(f64(x) / f64(y));
    case 11:
        return from_f32(sqrtf(f32(x)));
    case 12:
        return !(f64(x) >= f64(y));
    case 13:
        return from_f32((float)(int64_t)x);
    case 14:
        return rounded_up(f64(x), f64(y));
    default: // INT_MIN % -1 is 0 on both devices, undefined in C
        return b == 0xffffffff ? 0 : (uint32_t)((int32_t)a % (int32_t)b);
    }
}

bool both_expected(const struct both_snippet *s, const uint64_t *in, uint64_t *out)
{
    for (size_t i = 0; i < KB_COUNT(known); i++)
        if (!strcmp(known[i].name, s->name)) {
            *out = compute(known[i].which, in[0], in[1], in[2]);
            return true;
        }
    return false;
}
