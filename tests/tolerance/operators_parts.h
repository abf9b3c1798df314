// What the operators share: parameters, rounding, sums in the orders in which kernels take them. A list ends with NULL.
#ifndef KB_TESTS_TOLERANCE_OPERATORS_PARTS_H
#define KB_TESTS_TOLERANCE_OPERATORS_PARTS_H
#include "tolerance/operators.h"

#include <math.h>
#include <stdlib.h>

extern const struct operator operators_scalars[], operators_rows[], operators_products[], operators_lines[];

// Parameters as a launch has them.
#define POINTER(type, i) ((type *)(uintptr_t) * (const uint64_t *)args[i])
#define NUMBER(i) (*(const int *)args[i])
#define DROP(n) ((n)-operators_dropped)

static inline float half(float v)
{
    return (float)kbe_decode(KBE_F16, kbe_encode(KBE_F16, (double)v));
}
static inline float from_half(uint16_t h)
{
    return (float)kbe_decode(KBE_F16, h);
}
static inline uint16_t to_half(float v)
{
    return (uint16_t)kbe_encode(KBE_F16, (double)v);
}
static inline float brain(float v)
{
    return (float)kbe_decode(KBE_BF16, kbe_encode(KBE_BF16, (double)v));
}
static inline float from_brain(uint16_t h)
{
    return (float)kbe_decode(KBE_BF16, h);
}
static inline uint16_t to_brain(float v)
{
    return (uint16_t)kbe_encode(KBE_BF16, (double)v);
}

// Sums of f(i) for i < n, in the orders in which kernels take them.
typedef float (*term)(const void *, int);
static inline float sum_in_turn(term f, const void *p, int n)
{
    float s = 0;
    for (int i = 0; i < n; i++)
        s += f(p, i);
    return s;
}
static inline float tree_of(float *part, int lanes)
{
    for (int h = lanes / 2; h; h /= 2)
        for (int t = 0; t < h; t++)
            part[t] += part[t + h];
    return part[0];
}
static inline float sum_by_lanes(term f, const void *p, int n, int lanes)
{
    float part[256] = {0};
    for (int i = 0; i < n; i++)
        part[i % lanes] += f(p, i);
    return tree_of(part, lanes);
}
static inline float sum_by_warp(term f, const void *p, int n)
{
    return sum_by_lanes(f, p, n, 32);
}
static inline float sum_by_block(term f, const void *p, int n)
{
    return sum_by_lanes(f, p, n, 256);
}
typedef float (*adder)(term, const void *, int);

static inline float plain_term(const void *p, int i)
{
    return ((const float *)p)[i];
}
struct two {
    const float *a, *b;
    float mean;
};
static inline float product_term(const void *p, int i)
{
    const struct two *t = p;
    return t->a[i] * t->b[i];
}
static inline float square_term(const void *p, int i)
{
    const struct two *t = p;
    float d = t->a[i] - t->mean;
    return d * d;
}
static inline float exp_term(const void *p, int i)
{
    const struct two *t = p;
    return expf(t->a[i] - t->mean);
}

#define TAIL                                                                                                           \
    "'reference':{'source':'r.cu','kernel':'ref','launch':{'grid':[1],'block':[1]}},"                                  \
    "'variants':[{'name':'v','source':'v.cu','kernel':'v','launch':{'grid':[1],'block':[1]}}]}"

#endif
