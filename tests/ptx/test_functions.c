// The functions of CUDA's mathematics, as NVRTC compiles them, against long double: within the largest errors that the
// CUDA C++ Programming Guide gives ("Mathematical Functions", standard and intrinsic functions), in units in the last
// place.
#include "support_cpu.h"

#include "base/memory.h"
#include "base/text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 256 };

#define F(name, expression)                                                                                            \
    static long double name(long double v)                                                                             \
    {                                                                                                                  \
        return (expression);                                                                                           \
    }
#define PI 3.14159265358979323846264338327950288L
static long double sin_pi(long double v) // exact where it is zero
{
    long double r = remainderl(v, 2);
    return sinl(PI * (fabsl(r) > 0.5L ? copysignl(1, r) - r : r));
}
F(cos_pi, sin_pi(0.5L - fabsl(remainderl(v, 2))))
F(power, powl(fabsl(v), 1.75L))
F(arctangent2, atan2l(v, 1.25L))
F(arcsine, asinl(v / 64))
F(arccosine, acosl(v / 64))
F(area_tangent, atanhl(v / 64))
F(area_cosine, acoshl(fabsl(v)))
F(of_magnitude_log, logl(fabsl(v)))
F(of_magnitude_log2, log2l(fabsl(v)))
F(of_magnitude_log10, log10l(fabsl(v)))
F(of_magnitude_log1p, log1pl(fabsl(v)))
F(of_magnitude_root, sqrtl(fabsl(v)))
F(inverse_root, 1 / sqrtl(fabsl(v)))
F(inverse_cube_root, 1 / cbrtl(v))
F(hypotenuse, hypotl(v, 2))
F(inverse_hypotenuse, 1 / hypotl(v, 2))
F(ten_to, powl(10, v))
F(normal, erfcl(-v / sqrtl(2)) / 2)
F(modulo, fmodl(v, 0.75L))
F(nearest_modulo, remainderl(v, 0.75L))
F(scaled, ldexpl(v, 3))
F(third, v / 3)
F(norm_of_3, sqrtl(v *v + 5))

static const struct row {
    const char *text; // of v, in single precision; in double without the suffixes
    long double (*want)(long double);
    double f32, f64; // ulp; negative: not defined there
} rows[] = {
    {"expf(v)", expl, 1, 1},
    {"exp2f(v)", exp2l, 2, 1},
    {"exp10f(v)", ten_to, 2, 1},
    {"expm1f(v)", expm1l, 1, 1},
    {"logf(fabsf(v))", of_magnitude_log, 1, 1},
    {"log2f(fabsf(v))", of_magnitude_log2, 1, 1},
    {"log10f(fabsf(v))", of_magnitude_log10, 2, 1},
    {"log1pf(fabsf(v))", of_magnitude_log1p, 1, 1},
    {"sinf(v)", sinl, 2, 2},
    {"cosf(v)", cosl, 2, 2},
    {"tanf(v)", tanl, 4, 2},
    {"sinpif(v)", sin_pi, 1, 2},
    {"cospif(v)", cos_pi, 1, 2},
    {"asinf(v / 64)", arcsine, 2, 2},
    {"acosf(v / 64)", arccosine, 2, 2},
    {"atanf(v)", atanl, 2, 2},
    {"atan2f(v, 1.25f)", arctangent2, 3, 2},
    {"sinhf(v)", sinhl, 3, 2},
    {"coshf(v)", coshl, 2, 1},
    {"tanhf(v)", tanhl, 2, 1},
    {"asinhf(v)", asinhl, 3, 3},
    {"acoshf(fabsf(v))", area_cosine, 4, 3},
    {"atanhf(v / 64)", area_tangent, 3, 2},
    {"powf(fabsf(v), 1.75f)", power, 4, 2},
    {"erff(v)", erfl, 2, 2},
    {"erfcf(v)", erfcl, 4, 5},
    {"normcdff(v)", normal, 5, 5},
    {"tgammaf(v)", tgammal, 5, 10},
    {"cbrtf(v)", cbrtl, 1, 1},
    {"rcbrtf(v)", inverse_cube_root, 1, 1},
    {"hypotf(v, 2)", hypotenuse, 3, 2},
    {"rhypotf(v, 2)", inverse_hypotenuse, 2, 1},
    {"sqrtf(fabsf(v))", of_magnitude_root, 0, 0},
    {"rsqrtf(fabsf(v))", inverse_root, 2, 1},
    {"fmodf(v, 0.75f)", modulo, 0, 0},
    {"remainderf(v, 0.75f)", nearest_modulo, 0, 0},
    {"rintf(v)", rintl, 0, 0},
    {"roundf(v)", roundl, 0, 0},
    {"floorf(v)", floorl, 0, 0},
    {"ldexpf(v, 3)", scaled, 0, 0},
    {"v / 3", third, 0, 0},
    {"norm3df(v, 1, 2)", norm_of_3, 3, 2},
};

// "powf(fabsf(v), 1.75f)" for doubles.
static void add_double(struct kb_text *t, const char *text)
{
    for (const char *p = text; *p; p++) {
        bool suffix = *p == 'f' && p > text && (p[1] == '(' || (p[-1] >= '0' && p[-1] <= '9' && p[1] != '('));
        if (!suffix)
            kb_text_addf(t, "%c", *p);
    }
}

static char *program(bool wide)
{
    struct kb_text t = {0};
    const char *type = wide ? "double" : "float";
    kb_text_addf(&t, "extern \"C\" __global__ void k(const %s *x, %s *y) { int t = threadIdx.x; %s v = x[t];\n", type,
                 type, type);
    for (size_t i = 0; i < KB_COUNT(rows); i++) {
        kb_text_addf(&t, "y[%zu * %d + t] = ", i, N);
        if (wide)
            add_double(&t, rows[i].text);
        else
            kb_text_add(&t, rows[i].text);
        kb_text_add(&t, ";\n");
    }
    kb_text_add(&t, "}\n");
    return kb_text_take(&t);
}

static double input(int i)
{
    static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 0.5, 2, -30, 30, 1e-30, 0.375, -2.5};
    if (i < (int)KB_COUNT(special))
        return special[i];
    double size = ldexp(1 + (double)(random() % 65536) / 65536, (int)(random() % 16) - 11);
    return random() % 2 ? size : -size;
}

// The error in units of the last place of `want` in the type.
static double ulps(double got, long double want, bool wide)
{
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : INFINITY;
    long double most = wide ? (long double)DBL_MAX : (long double)FLT_MAX;
    if (isinf(got) || fabsl(want) > most)
        return isinf(got) && fabsl(want) > most * (1 - 1e-6L) && (got > 0) == (want > 0) ? 0 : INFINITY;
    int exponent;
    frexpl(want, &exponent);
    int least = wide ? -1021 : -125, bits = wide ? 53 : 24;
    exponent = want == 0 || exponent < least ? least : exponent;
    return (double)fabsl((long double)got - want) / ldexp(1, exponent - bits);
}

static void run(bool wide)
{
    struct cpu c;
    char *text = program(wide), *ptx = cuda_to_ptx(text, NULL);
    free(text);
    NEED_NVRTC(ptx);
    cpu_open(&c, NULL);
    cpu_load(&c, ptx);
    free(ptx);
    enum kb_dtype type = wide ? KB_F64 : KB_F32;
    void *x = cpu_buffer(&c, "x", type, N, NULL), *y = cpu_buffer(&c, "y", type, N * (int64_t)KB_COUNT(rows), NULL);
    uint64_t px = cpu_address(&c, 0), py = cpu_address(&c, 1);
    srandom(11);
    double in[N];
    for (int i = 0; i < N; i++) {
        in[i] = wide ? input(i) : (double)(float)input(i);
        if (wide)
            ((double *)x)[i] = in[i];
        else
            ((float *)x)[i] = (float)in[i];
    }
    cpu_run(&c, "k", 1, N, 0, &px, &py, NULL);
    for (size_t k = 0; k < KB_COUNT(rows); k++)
        for (int i = 0; i < N; i++) {
            size_t at = k * N + (size_t)i;
            double got = wide ? ((double *)y)[at] : (double)((float *)y)[at];
            long double want = rows[k].want(in[i]);
            double bound = (wide ? rows[k].f64 : rows[k].f32) + 0.5; // of rounding what is compared with
            if (!(ulps(got, want, wide) <= bound))
                fail_msg("%s, %s, v = %.17g: %.17g, not %.17Lg (%g ulp)", rows[k].text, wide ? "double" : "single",
                         in[i], got, want, ulps(got, want, wide));
        }
    cpu_close(&c);
}

static void test_single(void **state)
{
    (void)state;
    run(false);
}
static void test_double(void **state)
{
    (void)state;
    run(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_single), cmocka_unit_test(test_double)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
