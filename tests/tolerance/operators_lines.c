// Element by element, and with neighbours in a line.
#include "tolerance/operators_parts.h"

#define LINE(name, in, out, fill)                                                                                      \
    "{'kbench':1,'name':'" name "','params':{'n':3000},'args':["                                                       \
    "{'name':'x','role':'input','dtype':'" in "','shape':['n']" fill "},"                                              \
    "{'name':'y','role':'output','dtype':'" out "','shape':['n']},{'name':'n','role':'scalar','dtype':'i32'}],"        \
    "'cases':[{'n':3000,'time':true},{'n':1},{'n':1000},{'n':20000}]," TAIL
#define ELEMENTWISE(name, T, U, expression)                                                                            \
    static void name(void *const *args)                                                                                \
    {                                                                                                                  \
        const T *in = POINTER(const T, 0);                                                                             \
        U *out = POINTER(U, 1);                                                                                        \
        for (int i = 0; i < NUMBER(2); i++) {                                                                          \
            T x = in[i];                                                                                               \
            out[i] = expression;                                                                                       \
        }                                                                                                              \
    }
ELEMENTWISE(gelu_ref, float, double, 0.5 * (double)x * (1 + erf((double)x * M_SQRT1_2)))
ELEMENTWISE(gelu_erff, float, float, 0.5f * x * (1 + erff(x * 0.70710678f)))
ELEMENTWISE(gelu_erfcf, float, float, 0.5f * x * erfcf(-x * 0.70710678f))
ELEMENTWISE(silu_ref, float, double, (double)x / (1 + exp(-(double)x)))
ELEMENTWISE(silu_plain, float, float, x / (1 + expf(-x)))
ELEMENTWISE(silu_tanh, float, float, 0.5f * x * (1 + tanhf(0.5f * x)))
ELEMENTWISE(silu_exp2, float, float, x / (1 + exp2f(-1.44269504f * x)))
ELEMENTWISE(elu_ref, float, double, x > 0 ? (double)x : expm1((double)x))
ELEMENTWISE(elu_plain, float, float, x > 0 ? x : expf(x) - 1)
ELEMENTWISE(elu_expm1, float, float, x > 0 ? x : expm1f(x))
ELEMENTWISE(hgelu_ref, uint16_t, double, 0.5 * from_half(x) * (1 + erf(from_half(x) * M_SQRT1_2)))
ELEMENTWISE(hgelu_single, uint16_t, uint16_t, to_half(0.5f * from_half(x) * (1 + erff(from_half(x) * 0.70710678f))))
ELEMENTWISE(hsilu_ref, uint16_t, double, from_half(x) / (1 + exp(-(double)from_half(x))))
ELEMENTWISE(hsilu_half, uint16_t, uint16_t, to_half(half(from_half(x) * half(1 / half(1 + half(expf(-from_half(x))))))))
ELEMENTWISE(fp8_ref, float, double, (double)x * 60)
ELEMENTWISE(fp8_rounds, float, uint8_t, (uint8_t)kbe_encode(KBE_E4M3, fmin(fmax((double)(x * 60), -448), 448)))
ELEMENTWISE(exp_ref, float, double, exp((double)x))
ELEMENTWISE(exp_plain, float, float, expf(x))
ELEMENTWISE(exp_by_exp2, float, float, exp2f(x * 1.44269504f))
ELEMENTWISE(step_ref, float, int, (int)floor((double)x * 37))
ELEMENTWISE(step_single, float, int, (int)floorf(x * 37))
ELEMENTWISE(step_times, float, int, (int)floorf(x / (1.0f / 37)))

static void turn_ref(void *const *args) // pairs times a complex number
{
    const float *x = POINTER(const float, 0);
    for (int i = 0; i + 1 < NUMBER(2); i += 2) {
        POINTER(double, 1)[i] = (double)x[i] * x[i] - (double)x[i + 1] * x[i + 1];
        POINTER(double, 1)[i + 1] = 2.0 * x[i] * x[i + 1];
    }
    if (NUMBER(2) & 1)
        POINTER(double, 1)[NUMBER(2) - 1] = x[NUMBER(2) - 1];
}
static void turn_single(void *const *args)
{
    const float *x = POINTER(const float, 0);
    for (int i = 0; i + 1 < NUMBER(2); i += 2) {
        POINTER(float, 1)[i] = x[i] * x[i] - x[i + 1] * x[i + 1];
        POINTER(float, 1)[i + 1] = 2 * x[i] * x[i + 1];
    }
    if (NUMBER(2) & 1)
        POINTER(float, 1)[NUMBER(2) - 1] = x[NUMBER(2) - 1];
}

static void scan_ref(void *const *args)
{
    double s = 0;
    for (int i = 0; i < NUMBER(2); i++)
        POINTER(double, 1)[i] = s += POINTER(const float, 0)[i];
}
static void scan_in_turn(void *const *args)
{
    float s = 0;
    for (int i = 0; i < NUMBER(2); i++)
        POINTER(float, 1)[i] = s += POINTER(const float, 0)[i];
}
static void scan_blocks(void *const *args)
{
    float before = 0;
    for (int b = 0; b < NUMBER(2); b += 256) {
        float s = 0;
        for (int i = b; i < b + 256 && i < NUMBER(2); i++)
            POINTER(float, 1)[i] = before + (s += POINTER(const float, 0)[i]);
        before += s;
    }
}
static void blur_ref(void *const *args)
{
    for (int i = 0; i < NUMBER(2); i++) {
        double s = 0;
        for (int t = -4; t <= 4; t++)
            s += i + t < 0 || i + t >= NUMBER(2) ? 0 : POINTER(const float, 0)[i + t] * (5.0 - abs(t));
        POINTER(double, 1)[i] = s / 25;
    }
}
static void blur_single(void *const *args)
{
    for (int i = 0; i < NUMBER(2); i++) {
        float s = 0;
        for (int t = -4; t <= 4 - operators_dropped; t++)
            s += i + t < 0 || i + t >= NUMBER(2) ? 0 : POINTER(const float, 0)[i + t] * (float)(5 - abs(t));
        POINTER(float, 1)[i] = s / 25;
    }
}

const struct operator operators_lines[] = {
    {"gelu", LINE("gelu", "f32", "f32", ""), gelu_ref, {gelu_erff, gelu_erfcf}, {"erf", "erfc"}, {0}, 1, 0},
    {"silu",
     LINE("silu", "f32", "f32", ""),
     silu_ref,
     {silu_plain, silu_tanh, silu_exp2},
     {"exp", "tanh", "exp2"},
     {0},
     1,
     0},
    {"elu", LINE("elu", "f32", "f32", ""), elu_ref, {elu_plain, elu_expm1}, {"exp less 1", "expm1"}, {0}, 1, 0},
    {"exp", LINE("exp", "f32", "f32", ""), exp_ref, {exp_plain, exp_by_exp2}, {"exp", "exp2"}, {0}, 1, 0},
    {"gelu f16", LINE("hgelu", "f16", "f16", ""), hgelu_ref, {hgelu_single}, {"in f32"}, {0}, 1, 0},
    {"silu f16", LINE("hsilu", "f16", "f16", ""), hsilu_ref, {hsilu_half}, {"in f16"}, {0}, 1, 0},
    {"to fp8", LINE("fp8", "f32", "e4m3", ""), fp8_ref, {fp8_rounds}, {"saturates"}, {0}, 1, 0},
    {"steps",
     LINE("steps", "f32", "i32", ",'fill':'uniform'"),
     step_ref,
     {step_single, step_times},
     {"times", "divided"},
     {0},
     1,
     INTEGERS},
    {"pairs", LINE("pairs", "f32", "f32", ""), turn_ref, {turn_single}, {"plain"}, {0}, 1, 0},
    {"scan", LINE("scan", "f32", "f32", ""), scan_ref, {scan_in_turn, scan_blocks}, {"in turn", "blocks"}, {0}, 1, 0},
    {"blur", LINE("blur", "f32", "f32", ""), blur_ref, {blur_single}, {"nine taps"}, {0}, 1, SUMS},
    {.name = NULL},
};
