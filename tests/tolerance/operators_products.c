// Products of matrices, and attention.
#include "tolerance/operators_parts.h"

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

const struct operator operators_products[] = {
    {"gemm f32", PRODUCT("gemm", "f32"), gemm_ref, {gemm_in_turn, gemm_split}, {"in turn", "split k"}, {0, 1}, 2, SUMS},
    {"gemm f16",
     PRODUCT("hgemm", "f16"),
     hgemm_ref,
     {hgemm_single, hgemm_half_steps, hgemm_half_tiles},
     {"sums in f32", "sums in f16", "tiles in f16"},
     {0, 1},
     2,
     SUMS},
    {"gemm bf16", PRODUCT("bgemm", "bf16"), bgemm_ref, {bgemm_single}, {"sums in f32"}, {0, 1}, 2, SUMS},
    {"attention",
     ATTENTION("f32"),
     attention_ref,
     {attention_textbook, attention_online},
     {"textbook", "online"},
     {0, 1, 2},
     3,
     SUMS},
    {"attention bf16",
     ATTENTION("bf16"),
     attention_brain_ref,
     {attention_brain},
     {"weights in bf16"},
     {0, 1, 2},
     3,
     SUMS},
    {.name = NULL},
};
