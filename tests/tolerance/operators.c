#include "tolerance/operators.h"

#include <math.h>
#include <stdlib.h>

// Parameters as a launch has them.
#define POINTER(type, i) ((type *)(uintptr_t) * (const uint64_t *)args[i])
#define NUMBER(i) (*(const int *)args[i])
#define DROP(n) ((n)-operators_dropped)

int operators_dropped;

static float half(float v)
{
    return (float)kbe_decode(KBE_F16, kbe_encode(KBE_F16, (double)v));
}
static float from_half(uint16_t h)
{
    return (float)kbe_decode(KBE_F16, h);
}
static uint16_t to_half(float v)
{
    return (uint16_t)kbe_encode(KBE_F16, (double)v);
}
static float brain(float v)
{
    return (float)kbe_decode(KBE_BF16, kbe_encode(KBE_BF16, (double)v));
}
static float from_brain(uint16_t h)
{
    return (float)kbe_decode(KBE_BF16, h);
}
static uint16_t to_brain(float v)
{
    return (uint16_t)kbe_encode(KBE_BF16, (double)v);
}

// Sums of f(i) for i < n, in the orders in which kernels take them.
typedef float (*term)(const void *, int);
static float sum_in_turn(term f, const void *p, int n)
{
    float s = 0;
    for (int i = 0; i < n; i++)
        s += f(p, i);
    return s;
}
static float tree_of(float *part, int lanes)
{
    for (int h = lanes / 2; h; h /= 2)
        for (int t = 0; t < h; t++)
            part[t] += part[t + h];
    return part[0];
}
static float sum_by_lanes(term f, const void *p, int n, int lanes)
{
    float part[256] = {0};
    for (int i = 0; i < n; i++)
        part[i % lanes] += f(p, i);
    return tree_of(part, lanes);
}
static float sum_by_warp(term f, const void *p, int n)
{
    return sum_by_lanes(f, p, n, 32);
}
static float sum_by_block(term f, const void *p, int n)
{
    return sum_by_lanes(f, p, n, 256);
}
typedef float (*adder)(term, const void *, int);

static float plain_term(const void *p, int i)
{
    return ((const float *)p)[i];
}
struct two {
    const float *a, *b;
    float mean;
};
static float product_term(const void *p, int i)
{
    const struct two *t = p;
    return t->a[i] * t->b[i];
}
static float square_term(const void *p, int i)
{
    const struct two *t = p;
    float d = t->a[i] - t->mean;
    return d * d;
}
static float exp_term(const void *p, int i)
{
    const struct two *t = p;
    return expf(t->a[i] - t->mean);
}

// ---- one scalar ----

#define SCALAR(name, json_args, fill)                                                                                  \
    "{'kbench':1,'name':'" name "','params':{'n':1000},'args':[" json_args                                             \
    "{'name':'y','role':'output','dtype':'f32','shape':[1]},{'name':'n','role':'scalar','dtype':'i32'}],"              \
    "'cases':[{'n':1000,'time':true},{'n':1},{'n':33},{'n':7777}]," TAIL
#define TAIL                                                                                                           \
    "'reference':{'source':'r.cu','kernel':'ref','launch':{'grid':[1],'block':[1]}},"                                  \
    "'variants':[{'name':'v','source':'v.cu','kernel':'v','launch':{'grid':[1],'block':[1]}}]}"
#define X_OF_N "{'name':'x','role':'input','dtype':'f32','shape':['n']},"

static void sum_ref(void *const *args)
{
    const float *x = POINTER(const float, 0);
    double s = 0;
    for (int i = 0; i < NUMBER(2); i++)
        s += x[i];
    *POINTER(double, 1) = s;
}
#define SUM(order)                                                                                                     \
    static void order##_sum(void *const *args)                                                                         \
    {                                                                                                                  \
        *POINTER(float, 1) = sum_##order(plain_term, POINTER(const float, 0), DROP(NUMBER(2)));                        \
    }
SUM(in_turn)
SUM(by_warp)
SUM(by_block)

static void dot_ref(void *const *args)
{
    const float *a = POINTER(const float, 0), *b = POINTER(const float, 1);
    double s = 0;
    for (int i = 0; i < NUMBER(3); i++)
        s += (double)a[i] * b[i];
    *POINTER(double, 2) = s;
}
#define DOT(order)                                                                                                     \
    static void order##_dot(void *const *args)                                                                         \
    {                                                                                                                  \
        struct two t = {POINTER(const float, 0), POINTER(const float, 1), 0};                                          \
        *POINTER(float, 2) = sum_##order(product_term, &t, DROP(NUMBER(3)));                                           \
    }
DOT(in_turn)
DOT(by_warp)
DOT(by_block)

static void norm_ref(void *const *args)
{
    const float *x = POINTER(const float, 0);
    double s = 0;
    for (int i = 0; i < NUMBER(2); i++)
        s += (double)x[i] * x[i];
    *POINTER(double, 1) = sqrt(s);
}
static void norm_by_warp(void *const *args)
{
    struct two t = {POINTER(const float, 0), NULL, 0};
    *POINTER(float, 1) = sqrtf(sum_by_warp(square_term, &t, DROP(NUMBER(2))));
}

// ---- rows ----

#define ROWS(name, type)                                                                                               \
    "{'kbench':1,'name':'" name "','params':{'rows':24,'cols':200},'args':["                                           \
    "{'name':'x','role':'input','dtype':'" type "','shape':['rows','cols']},"                                          \
    "{'name':'y','role':'output','dtype':'" type "','shape':['rows','cols']},"                                         \
    "{'name':'rows','role':'scalar','dtype':'i32'},{'name':'cols','role':'scalar','dtype':'i32'}],"                    \
    "'cases':[{'rows':24,'cols':200,'time':true},{'rows':1,'cols':1},{'rows':7,'cols':65},{'rows':3,'cols':4096}]"     \
    "," TAIL
#define ROW_TO_ONE(name, out, type)                                                                                    \
    "{'kbench':1,'name':'" name "','params':{'rows':40,'cols':200},'args':["                                           \
    "{'name':'x','role':'input','dtype':'f32','shape':['rows','cols']},"                                               \
    "{'name':'y','role':'output','dtype':'" type "','shape':[" out "]},"                                               \
    "{'name':'rows','role':'scalar','dtype':'i32'},{'name':'cols','role':'scalar','dtype':'i32'}],"                    \
    "'cases':[{'rows':40,'cols':200,'time':true},{'rows':1,'cols':7},{'rows':33,'cols':65},{'rows':2,'cols':4096}]"    \
    "," TAIL
#define EACH_ROW(in, out, T, U)                                                                                        \
    int rows = NUMBER(2), cols = NUMBER(3);                                                                            \
    const T *x = POINTER(const T, 0);                                                                                  \
    U *y = POINTER(U, 1);                                                                                              \
    for (int r = 0; r < rows; r++, x += in, y += out)

static void softmax_ref(void *const *args)
{
    EACH_ROW(cols, cols, float, double)
    {
        double most = -INFINITY, sum = 0;
        for (int c = 0; c < cols; c++)
            most = fmax(most, x[c]);
        for (int c = 0; c < cols; c++)
            sum += exp(x[c] - most);
        for (int c = 0; c < cols; c++)
            y[c] = exp(x[c] - most) / sum;
    }
}
static void softmax_by(void *const *args, adder add)
{
    EACH_ROW(cols, cols, float, float)
    {
        struct two t = {x, NULL, -INFINITY};
        for (int c = 0; c < cols; c++)
            t.mean = fmaxf(t.mean, x[c]);
        float sum = add(exp_term, &t, DROP(cols));
        for (int c = 0; c < cols; c++)
            y[c] = expf(x[c] - t.mean) / sum;
    }
}
static void softmax_in_turn(void *const *args)
{
    softmax_by(args, sum_in_turn);
}
static void softmax_by_block(void *const *args)
{
    softmax_by(args, sum_by_block);
}
static void softmax_online(void *const *args)
{
    EACH_ROW(cols, cols, float, float)
    {
        float most = -INFINITY, sum = 0;
        for (int c = 0; c < DROP(cols); c++) {
            float now = fmaxf(most, x[c]);
            sum = sum * expf(most - now) + expf(x[c] - now);
            most = now;
        }
        for (int c = 0; c < cols; c++)
            y[c] = expf(x[c] - most) / sum;
    }
}

static void layernorm_ref(void *const *args)
{
    EACH_ROW(cols, cols, float, double)
    {
        double m = 0, v = 0;
        for (int c = 0; c < cols; c++)
            m += x[c] / (double)cols;
        for (int c = 0; c < cols; c++)
            v += (x[c] - m) * (x[c] - m) / cols;
        for (int c = 0; c < cols; c++)
            y[c] = (x[c] - m) / sqrt(v + 1e-5);
    }
}
static void layernorm_by(void *const *args, adder add)
{
    EACH_ROW(cols, cols, float, float)
    {
        struct two t = {x, NULL, add(plain_term, x, DROP(cols)) / (float)cols};
        float scale = 1 / sqrtf(add(square_term, &t, DROP(cols)) / (float)cols + 1e-5f);
        for (int c = 0; c < cols; c++)
            y[c] = (x[c] - t.mean) * scale;
    }
}
static void layernorm_in_turn(void *const *args)
{
    layernorm_by(args, sum_in_turn);
}
static void layernorm_by_warp(void *const *args)
{
    layernorm_by(args, sum_by_warp);
}
static void layernorm_welford(void *const *args)
{
    EACH_ROW(cols, cols, float, float)
    {
        float m = 0, s = 0;
        for (int c = 0; c < DROP(cols); c++) {
            float d = x[c] - m;
            m += d / (float)(c + 1);
            s += d * (x[c] - m);
        }
        for (int c = 0; c < cols; c++)
            y[c] = (x[c] - m) / sqrtf(s / (float)cols + 1e-5f);
    }
}

static void loss_ref(void *const *args)
{
    EACH_ROW(cols, 1, float, double)
    {
        double most = -INFINITY, sum = 0;
        for (int c = 0; c < cols; c++)
            most = fmax(most, x[c]);
        for (int c = 0; c < cols; c++)
            sum += exp(x[c] - most);
        *y = most + log(sum) - x[0];
    }
}
static void loss_by_warp(void *const *args)
{
    EACH_ROW(cols, 1, float, float)
    {
        struct two t = {x, NULL, -INFINITY};
        for (int c = 0; c < DROP(cols); c++)
            t.mean = fmaxf(t.mean, x[c]);
        *y = t.mean + logf(sum_by_warp(exp_term, &t, DROP(cols))) - x[0];
    }
}
static void loss_in_turn(void *const *args)
{
    EACH_ROW(cols, 1, float, float)
    {
        struct two t = {x, NULL, -INFINITY};
        for (int c = 0; c < DROP(cols); c++)
            t.mean = fmaxf(t.mean, x[c]);
        *y = logf(sum_in_turn(exp_term, &t, DROP(cols))) - (x[0] - t.mean);
    }
}

static void kurtosis_ref(void *const *args)
{
    EACH_ROW(cols, 1, float, double)
    {
        double m = 0, v = 0, k = 0;
        for (int c = 0; c < cols; c++)
            m += x[c] / (double)cols;
        for (int c = 0; c < cols; c++) {
            double d = x[c] - m;
            v += d * d / cols;
            k += d * d * d * d / cols;
        }
        *y = k / (v * v);
    }
}
static void kurtosis_two_pass(void *const *args)
{
    EACH_ROW(cols, 1, float, float)
    {
        float m = sum_by_warp(plain_term, x, DROP(cols)) / (float)cols, v = 0, k = 0;
        for (int c = 0; c < DROP(cols); c++) {
            float d = x[c] - m;
            v += d * d;
            k += d * d * d * d;
        }
        v /= (float)cols;
        *y = k / (float)cols / (v * v);
    }
}

static void argmax_ref(void *const *args)
{
    EACH_ROW(cols, 1, float, int)
    {
        *y = 0;
        for (int c = 1; c < cols; c++)
            *y = x[c] > x[*y] ? c : *y;
    }
}
static void argmax_pairs(void *const *args)
{
    EACH_ROW(cols, 1, float, int)
    {
        int best = 0;
        for (int c = DROP(cols) - 1; c >= 0; c--)
            best = x[c] > x[best] || (x[c] == x[best] && c < best) ? c : best;
        *y = best;
    }
}

// ---- products of matrices ----

#define PRODUCT(name, type)                                                                                            \
    "{'kbench':1,'name':'" name "','params':{'m':32,'n':32,'k':64},'args':["                                           \
    "{'name':'a','role':'input','dtype':'" type "','shape':['m','k']},"                                                \
    "{'name':'b','role':'input','dtype':'" type "','shape':['k','n']},"                                                \
    "{'name':'c','role':'output','dtype':'" type "','shape':['m','n']},"                                               \
    "{'name':'m','role':'scalar','dtype':'i32'},{'name':'n','role':'scalar','dtype':'i32'},"                           \
    "{'name':'k','role':'scalar','dtype':'i32'}],"                                                                     \
    "'cases':[{'m':32,'n':32,'k':64,'time':true},{'m':1,'n':1,'k':1},{'m':17,'n':33,'k':65},{'m':16,'n':16,'k':256}]"  \
    "," TAIL
#define EACH_ELEMENT                                                                                                   \
    int m = NUMBER(3), n = NUMBER(4), k = NUMBER(5);                                                                   \
    for (int i = 0; i < m; i++)                                                                                        \
        for (int j = 0; j < n; j++)

static void gemm_ref(void *const *args)
{
    const float *a = POINTER(const float, 0), *b = POINTER(const float, 1);
    EACH_ELEMENT
    {
        double s = 0;
        for (int t = 0; t < k; t++)
            s += (double)a[i * k + t] * b[t * n + j];
        POINTER(double, 2)[i * n + j] = s;
    }
}
static void gemm_in_turn(void *const *args)
{
    const float *a = POINTER(const float, 0), *b = POINTER(const float, 1);
    EACH_ELEMENT
    {
        float s = 0;
        for (int t = 0; t < DROP(k); t++)
            s += a[i * k + t] * b[t * n + j];
        POINTER(float, 2)[i * n + j] = s;
    }
}
static void gemm_split(void *const *args) // four parts of k, added at the end
{
    const float *a = POINTER(const float, 0), *b = POINTER(const float, 1);
    EACH_ELEMENT
    {
        float s[4] = {0};
        for (int t = 0; t < DROP(k); t++)
            s[t * 4 / k] = fmaf(a[i * k + t], b[t * n + j], s[t * 4 / k]);
        POINTER(float, 2)[i * n + j] = (s[0] + s[1]) + (s[2] + s[3]);
    }
}

static void hgemm_ref(void *const *args)
{
    const uint16_t *a = POINTER(const uint16_t, 0), *b = POINTER(const uint16_t, 1);
    EACH_ELEMENT
    {
        double s = 0;
        for (int t = 0; t < k; t++)
            s += (double)from_half(a[i * k + t]) * from_half(b[t * n + j]);
        POINTER(double, 2)[i * n + j] = s;
    }
}
static void hgemm_single(void *const *args)
{
    const uint16_t *a = POINTER(const uint16_t, 0), *b = POINTER(const uint16_t, 1);
    EACH_ELEMENT
    {
        float s = 0;
        for (int t = 0; t < DROP(k); t++)
            s += from_half(a[i * k + t]) * from_half(b[t * n + j]);
        POINTER(uint16_t, 2)[i * n + j] = to_half(s);
    }
}
static void hgemm_half_steps(void *const *args) // __hfma, one after the other
{
    const uint16_t *a = POINTER(const uint16_t, 0), *b = POINTER(const uint16_t, 1);
    EACH_ELEMENT
    {
        float s = 0;
        for (int t = 0; t < DROP(k); t++)
            s = half(s + from_half(a[i * k + t]) * from_half(b[t * n + j]));
        POINTER(uint16_t, 2)[i * n + j] = to_half(s);
    }
}
static void hgemm_half_tiles(void *const *args) // tensor cores with an accumulator in f16
{
    const uint16_t *a = POINTER(const uint16_t, 0), *b = POINTER(const uint16_t, 1);
    EACH_ELEMENT
    {
        float s = 0;
        for (int from = 0; from < DROP(k); from += 16) {
            double tile = s;
            for (int t = from; t < from + 16 && t < DROP(k); t++)
                tile += (double)from_half(a[i * k + t]) * from_half(b[t * n + j]);
            s = half((float)tile);
        }
        POINTER(uint16_t, 2)[i * n + j] = to_half(s);
    }
}
static void bgemm_ref(void *const *args)
{
    const uint16_t *a = POINTER(const uint16_t, 0), *b = POINTER(const uint16_t, 1);
    EACH_ELEMENT
    {
        double s = 0;
        for (int t = 0; t < k; t++)
            s += (double)from_brain(a[i * k + t]) * from_brain(b[t * n + j]);
        POINTER(double, 2)[i * n + j] = s;
    }
}
static void bgemm_single(void *const *args)
{
    const uint16_t *a = POINTER(const uint16_t, 0), *b = POINTER(const uint16_t, 1);
    EACH_ELEMENT
    {
        float s = 0;
        for (int t = 0; t < DROP(k); t++)
            s += from_brain(a[i * k + t]) * from_brain(b[t * n + j]);
        POINTER(uint16_t, 2)[i * n + j] = to_brain(s);
    }
}

// ---- attention ----

#define ATTENTION(type)                                                                                                \
    "{'kbench':1,'name':'attention','params':{'t':48,'d':32},'args':["                                                 \
    "{'name':'q','role':'input','dtype':'" type "','shape':['t','d']},"                                                \
    "{'name':'k','role':'input','dtype':'" type "','shape':['t','d']},"                                                \
    "{'name':'v','role':'input','dtype':'" type "','shape':['t','d']},"                                                \
    "{'name':'o','role':'output','dtype':'" type "','shape':['t','d']},"                                               \
    "{'name':'t','role':'scalar','dtype':'i32'},{'name':'d','role':'scalar','dtype':'i32'}],"                          \
    "'cases':[{'t':48,'d':32,'time':true},{'t':1,'d':4},{'t':33,'d':16}]," TAIL

typedef float (*reader)(const void *, int);
static float read_single(const void *p, int i)
{
    return ((const float *)p)[i];
}
static float read_brain(const void *p, int i)
{
    return from_brain(((const uint16_t *)p)[i]);
}
static void attention_double(void *const *args, reader get)
{
    const void *q = POINTER(const void, 0), *key = POINTER(const void, 1), *v = POINTER(const void, 2);
    int t = NUMBER(4), d = NUMBER(5);
    for (int i = 0; i < t; i++) {
        double score[64], most = -INFINITY, sum = 0;
        for (int j = 0; j < t; j++) {
            score[j] = 0;
            for (int c = 0; c < d; c++)
                score[j] += (double)get(q, i * d + c) * get(key, j * d + c);
            score[j] /= sqrt(d);
            most = fmax(most, score[j]);
        }
        for (int j = 0; j < t; j++)
            sum += score[j] = exp(score[j] - most);
        for (int c = 0; c < d; c++) {
            double o = 0;
            for (int j = 0; j < t; j++)
                o += score[j] / sum * get(v, j * d + c);
            POINTER(double, 3)[i * d + c] = o;
        }
    }
}
static void attention_ref(void *const *args)
{
    attention_double(args, read_single);
}
static void attention_brain_ref(void *const *args)
{
    attention_double(args, read_brain);
}
// All scores, their maximum, then the sums; in single precision throughout, or weights rounded to bf16 on the way.
static void attention_single(void *const *args, reader get, float out[], bool rounded)
{
    const void *q = POINTER(const void, 0), *key = POINTER(const void, 1), *v = POINTER(const void, 2);
    int t = NUMBER(4), d = NUMBER(5);
    for (int i = 0; i < t; i++) {
        float score[64], most = -INFINITY, sum = 0;
        for (int j = 0; j < t; j++) {
            score[j] = 0;
            for (int c = 0; c < d; c++)
                score[j] += get(q, i * d + c) * get(key, j * d + c);
            score[j] /= sqrtf((float)d);
            most = fmaxf(most, score[j]);
        }
        for (int j = 0; j < DROP(t); j++) {
            sum += score[j] = expf(score[j] - most);
            score[j] = rounded ? brain(score[j]) : score[j];
        }
        for (int c = 0; c < d; c++) {
            out[i * d + c] = 0;
            for (int j = 0; j < DROP(t); j++)
                out[i * d + c] += score[j] * get(v, j * d + c);
            out[i * d + c] /= sum;
        }
    }
}
static void attention_textbook(void *const *args)
{
    attention_single(args, read_single, POINTER(float, 3), false);
}
static void attention_brain(void *const *args)
{
    float out[64 * 32];
    attention_single(args, read_brain, out, true);
    for (int i = 0; i < NUMBER(4) * NUMBER(5); i++)
        POINTER(uint16_t, 3)[i] = to_brain(out[i]);
}
static void attention_online(void *const *args)
{
    const float *q = POINTER(const float, 0), *key = POINTER(const float, 1), *v = POINTER(const float, 2);
    int t = NUMBER(4), d = NUMBER(5);
    for (int i = 0; i < t; i++) {
        float most = -INFINITY, sum = 0, o[32] = {0};
        for (int j = 0; j < DROP(t); j++) {
            struct two s = {q + i * d, key + j * d, 0};
            float score = sum_by_lanes(product_term, &s, d, 4) / sqrtf((float)d), now = fmaxf(most, score);
            float old = expf(most - now), p = expf(score - now);
            sum = sum * old + p;
            for (int c = 0; c < d; c++)
                o[c] = o[c] * old + p * v[j * d + c];
            most = now;
        }
        for (int c = 0; c < d; c++)
            POINTER(float, 3)[i * d + c] = o[c] / sum;
    }
}

// ---- element by element ----

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

// ---- neighbours ----

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

static void rms_ref(void *const *args)
{
    EACH_ROW(cols, cols, uint16_t, double)
    {
        double s = 0;
        for (int c = 0; c < cols; c++)
            s += (double)from_brain(x[c]) * from_brain(x[c]);
        for (int c = 0; c < cols; c++)
            y[c] = from_brain(x[c]) / sqrt(s / cols + 1e-5);
    }
}
static void rms_by_block(void *const *args)
{
    EACH_ROW(cols, cols, uint16_t, uint16_t)
    {
        float part[256] = {0};
        for (int c = 0; c < DROP(cols); c++)
            part[c % 256] += from_brain(x[c]) * from_brain(x[c]);
        float scale = 1 / sqrtf(tree_of(part, 256) / (float)cols + 1e-5f);
        for (int c = 0; c < cols; c++)
            y[c] = to_brain(from_brain(x[c]) * scale);
    }
}

static void quantise_ref(void *const *args)
{
    EACH_ROW(cols, cols, float, signed char)
    {
        double most = 0;
        for (int c = 0; c < cols; c++)
            most = fmax(most, fabs((double)x[c]));
        for (int c = 0; c < cols; c++)
            y[c] = most > 0 ? (signed char)rint(x[c] * 127 / most) : 0;
    }
}
static void quantise_by(void *const *args, bool divides)
{
    EACH_ROW(cols, cols, float, signed char)
    {
        float most = 0;
        for (int c = 0; c < DROP(cols); c++)
            most = fmaxf(most, fabsf(x[c]));
        for (int c = 0; c < cols; c++) {
            float q = most > 0 ? rintf(divides ? x[c] * 127 / most : x[c] * (127 / most)) : 0;
            y[c] = (signed char)fmaxf(fminf(q, 127), -127);
        }
    }
}
static void quantise_times(void *const *args)
{
    quantise_by(args, false);
}
static void quantise_divided(void *const *args)
{
    quantise_by(args, true);
}

static void cosine_ref(void *const *args)
{
    int rows = NUMBER(3), cols = NUMBER(4);
    for (int r = 0; r < rows; r++) {
        const float *a = POINTER(const float, 0) + r * cols, *b = POINTER(const float, 1) + r * cols;
        double ab = 0, aa = 0, bb = 0;
        for (int c = 0; c < cols; c++) {
            ab += (double)a[c] * b[c];
            aa += (double)a[c] * a[c];
            bb += (double)b[c] * b[c];
        }
        POINTER(double, 2)[r] = ab / sqrt(aa * bb);
    }
}
static void cosine_by(void *const *args, bool together)
{
    int rows = NUMBER(3), cols = NUMBER(4);
    for (int r = 0; r < rows; r++) {
        const float *a = POINTER(const float, 0) + r * cols, *b = POINTER(const float, 1) + r * cols;
        float ab = sum_by_warp(product_term, &(struct two){a, b, 0}, DROP(cols));
        float aa = sum_by_warp(product_term, &(struct two){a, a, 0}, DROP(cols));
        float bb = sum_by_warp(product_term, &(struct two){b, b, 0}, DROP(cols));
        POINTER(float, 2)[r] = together ? ab / sqrtf(aa * bb) : ab / (sqrtf(aa) * sqrtf(bb));
    }
}
static void cosine_together(void *const *args)
{
    cosine_by(args, true);
}
static void cosine_apart(void *const *args)
{
    cosine_by(args, false);
}

#define COSINE                                                                                                         \
    "{'kbench':1,'name':'cosine','params':{'rows':40,'cols':96},'args':["                                              \
    "{'name':'a','role':'input','dtype':'f32','shape':['rows','cols']},"                                               \
    "{'name':'b','role':'input','dtype':'f32','shape':['rows','cols']},"                                               \
    "{'name':'y','role':'output','dtype':'f32','shape':['rows']},"                                                     \
    "{'name':'rows','role':'scalar','dtype':'i32'},{'name':'cols','role':'scalar','dtype':'i32'}],"                    \
    "'cases':[{'rows':40,'cols':96,'time':true},{'rows':1,'cols':3},{'rows':3,'cols':1000}]," TAIL

#define A_AND_B                                                                                                        \
    "{'name':'a','role':'input','dtype':'f32','shape':['n']},{'name':'b','role':'input','dtype':'f32','shape':['n']},"
#define KERNELS(...)                                                                                                   \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }
#define NAMES(...)                                                                                                     \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

const struct operator operators[] = {
    {"sum",
     SCALAR("sum", X_OF_N, ""),
     sum_ref,
     {in_turn_sum, by_warp_sum, by_block_sum},
     {"in turn", "by warp", "by block"},
     {0},
     1,
     true,
     false},
    {"sum of 0 to 1",
     SCALAR("sum01", "{'name':'x','role':'input','dtype':'f32','shape':['n'],'fill':'uniform'},", ""),
     sum_ref,
     {in_turn_sum, by_warp_sum},
     {"in turn", "by warp"},
     {0},
     1,
     true,
     false},
    {"dot",
     SCALAR("dot", A_AND_B, ""),
     dot_ref,
     {in_turn_dot, by_warp_dot, by_block_dot},
     {"in turn", "by warp", "by block"},
     {0, 1},
     2,
     true,
     false},
    {"norm", SCALAR("norm", X_OF_N, ""), norm_ref, {norm_by_warp}, {"by warp"}, {0}, 1, true, false},
    {"softmax",
     ROWS("softmax", "f32"),
     softmax_ref,
     {softmax_in_turn, softmax_by_block, softmax_online},
     {"in turn", "by block", "online"},
     {0},
     1,
     true,
     false},
    {"layernorm",
     ROWS("layernorm", "f32"),
     layernorm_ref,
     {layernorm_in_turn, layernorm_by_warp, layernorm_welford},
     {"in turn", "by warp", "welford"},
     {0},
     1,
     true,
     false},
    {"cross entropy",
     ROW_TO_ONE("loss", "'rows'", "f32"),
     loss_ref,
     {loss_by_warp, loss_in_turn},
     {"by warp", "in turn"},
     {0},
     1,
     true,
     false},
    {"kurtosis",
     ROW_TO_ONE("kurtosis", "'rows'", "f32"),
     kurtosis_ref,
     {kurtosis_two_pass},
     {"two passes"},
     {0},
     1,
     true,
     false},
    {"argmax", ROW_TO_ONE("argmax", "'rows'", "i32"), argmax_ref, {argmax_pairs}, {"pairs"}, {0}, 1, true, true},
    {"gemm f32",
     PRODUCT("gemm", "f32"),
     gemm_ref,
     {gemm_in_turn, gemm_split},
     {"in turn", "split k"},
     {0, 1},
     2,
     true,
     false},
    {"gemm f16",
     PRODUCT("hgemm", "f16"),
     hgemm_ref,
     {hgemm_single, hgemm_half_steps, hgemm_half_tiles},
     {"sums in f32", "sums in f16", "tiles in f16"},
     {0, 1},
     2,
     true,
     false},
    {"gemm bf16", PRODUCT("bgemm", "bf16"), bgemm_ref, {bgemm_single}, {"sums in f32"}, {0, 1}, 2, true, false},
    {"attention",
     ATTENTION("f32"),
     attention_ref,
     {attention_textbook, attention_online},
     {"textbook", "online"},
     {0, 1, 2},
     3,
     true,
     false},
    {"attention bf16",
     ATTENTION("bf16"),
     attention_brain_ref,
     {attention_brain},
     {"weights in bf16"},
     {0, 1, 2},
     3,
     true,
     false},
    {"cosine", COSINE, cosine_ref, {cosine_together, cosine_apart}, {"one root", "two roots"}, {0, 1}, 2, true, false},
    {"gelu", LINE("gelu", "f32", "f32", ""), gelu_ref, {gelu_erff, gelu_erfcf}, {"erf", "erfc"}, {0}, 1, false, false},
    {"silu",
     LINE("silu", "f32", "f32", ""),
     silu_ref,
     {silu_plain, silu_tanh, silu_exp2},
     {"exp", "tanh", "exp2"},
     {0},
     1,
     false,
     false},
    {"elu",
     LINE("elu", "f32", "f32", ""),
     elu_ref,
     {elu_plain, elu_expm1},
     {"exp less 1", "expm1"},
     {0},
     1,
     false,
     false},
    {"exp", LINE("exp", "f32", "f32", ""), exp_ref, {exp_plain, exp_by_exp2}, {"exp", "exp2"}, {0}, 1, false, false},
    {"gelu f16", LINE("hgelu", "f16", "f16", ""), hgelu_ref, {hgelu_single}, {"in f32"}, {0}, 1, false, false},
    {"silu f16", LINE("hsilu", "f16", "f16", ""), hsilu_ref, {hsilu_half}, {"in f16"}, {0}, 1, false, false},
    {"to fp8", LINE("fp8", "f32", "e4m3", ""), fp8_ref, {fp8_rounds}, {"saturates"}, {0}, 1, false, false},
    {"steps",
     LINE("steps", "f32", "i32", ",'fill':'uniform'"),
     step_ref,
     {step_single, step_times},
     {"times", "divided"},
     {0},
     1,
     false,
     true},
    {"pairs", LINE("pairs", "f32", "f32", ""), turn_ref, {turn_single}, {"plain"}, {0}, 1, false, false},
    {"scan",
     LINE("scan", "f32", "f32", ""),
     scan_ref,
     {scan_in_turn, scan_blocks},
     {"in turn", "blocks"},
     {0},
     1,
     false,
     false},
    {"blur", LINE("blur", "f32", "f32", ""), blur_ref, {blur_single}, {"nine taps"}, {0}, 1, true, false},
    {"rmsnorm bf16", ROWS("rms", "bf16"), rms_ref, {rms_by_block}, {"by block"}, {0}, 1, true, false},
    {"quantise",
     "{'kbench':1,'name':'q','params':{'rows':24,'cols':200},'args':[{'name':'x','role':'input','dtype':'f32','shape':["
     "'rows','cols']},{'name':'y','role':'output','dtype':'i8','shape':['rows','cols']},{'name':'rows','role':'scalar',"
     "'dtype':'i32'},{'name':'cols','role':'scalar','dtype':'i32'}],'cases':[{'rows':24,'cols':200,'time':true},{'rows'"
     ":1,'cols':1},{'rows':50,'cols':700}]," TAIL,
     quantise_ref,
     {quantise_times, quantise_divided},
     {"times", "divided"},
     {0},
     1,
     true,
     true},
};
const int operator_count = (int)(sizeof operators / sizeof *operators);
