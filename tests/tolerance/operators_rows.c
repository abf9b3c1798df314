// What is taken of each row.
#include "tolerance/operators_parts.h"

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
            best = x[c] > x[best] || (x[c] == x[best] && c < best && !operators_other_tie) ? c : best;
        *y = best;
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

// The nearest of eight centres: which of two at nearly the same distance is a matter of rounding.
enum { CENTRES = 8 };
static double distance_of(const float *x, const float *c, int cols)
{
    double s = 0;
    for (int i = 0; i < cols; i++)
        s += ((double)x[i] - c[i]) * ((double)x[i] - c[i]);
    return s;
}
static float single_distance_of(const float *x, const float *c, int cols)
{
    float s = 0;
    for (int i = 0; i < cols; i++)
        s += (x[i] - c[i]) * (x[i] - c[i]);
    return s;
}
static float difference_term(const void *p, int i)
{
    const struct two *t = p;
    return (t->a[i] - t->b[i]) * (t->a[i] - t->b[i]);
}
static float distance_by_warp(const float *x, const float *c, int cols)
{
    return sum_by_warp(difference_term, &(struct two){x, c, 0}, cols);
}
static void nearest_ref(void *const *args)
{
    for (int r = 0, cols = NUMBER(4); r < NUMBER(3); r++) {
        const float *x = POINTER(const float, 0) + r * cols, *c = POINTER(const float, 1);
        int best = 0;
        for (int k = 1; k < CENTRES; k++)
            best = distance_of(x, c + k * cols, cols) < distance_of(x, c + best * cols, cols) ? k : best;
        POINTER(int, 2)[r] = best;
    }
}
static void nearest_by(void *const *args, float (*distance)(const float *, const float *, int))
{
    for (int r = 0, cols = NUMBER(4); r < NUMBER(3); r++) {
        const float *x = POINTER(const float, 0) + r * cols, *c = POINTER(const float, 1);
        int best = 0;
        for (int k = 1; k < CENTRES - operators_dropped; k++)
            best = distance(x, c + k * cols, cols) < distance(x, c + best * cols, cols) ? k : best;
        POINTER(int, 2)[r] = best;
    }
}
static void nearest_in_turn(void *const *args)
{
    nearest_by(args, single_distance_of);
}
static void nearest_by_warp(void *const *args)
{
    nearest_by(args, distance_by_warp);
}

#define NEAREST                                                                                                        \
    "{'kbench':1,'name':'nearest','params':{'rows':400,'cols':24},'args':["                                            \
    "{'name':'x','role':'input','dtype':'f32','shape':['rows','cols']},"                                               \
    "{'name':'centres','role':'input','dtype':'f32','shape':[8,'cols']},"                                              \
    "{'name':'y','role':'output','dtype':'i32','shape':['rows']},"                                                     \
    "{'name':'rows','role':'scalar','dtype':'i32'},{'name':'cols','role':'scalar','dtype':'i32'}],"                    \
    "'cases':[{'rows':400,'cols':24,'time':true},{'rows':33,'cols':3},{'rows':50,'cols':300}]," TAIL

const struct operator operators_rows[] = {
    {"softmax",
     ROWS("softmax", "f32"),
     softmax_ref,
     {softmax_in_turn, softmax_by_block, softmax_online},
     {"in turn", "by block", "online"},
     {0},
     1,
     SUMS},
    {"layernorm",
     ROWS("layernorm", "f32"),
     layernorm_ref,
     {layernorm_in_turn, layernorm_by_warp, layernorm_welford},
     {"in turn", "by warp", "welford"},
     {0},
     1,
     SUMS},
    {"cross entropy",
     ROW_TO_ONE("loss", "'rows'", "f32"),
     loss_ref,
     {loss_by_warp, loss_in_turn},
     {"by warp", "in turn"},
     {0},
     1,
     SUMS},
    {"kurtosis",
     ROW_TO_ONE("kurtosis", "'rows'", "f32"),
     kurtosis_ref,
     {kurtosis_two_pass},
     {"two passes"},
     {0},
     1,
     SUMS},
    {"argmax",
     ROW_TO_ONE("argmax", "'rows'", "i32"),
     argmax_ref,
     {argmax_pairs},
     {"pairs"},
     {0},
     1,
     SUMS | INTEGERS | TIES},
    {"cosine", COSINE, cosine_ref, {cosine_together, cosine_apart}, {"one root", "two roots"}, {0, 1}, 2, SUMS},
    {"rmsnorm bf16", ROWS("rms", "bf16"), rms_ref, {rms_by_block}, {"by block"}, {0}, 1, SUMS},
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
     SUMS | INTEGERS},
    {"nearest",
     NEAREST,
     nearest_ref,
     {nearest_in_turn, nearest_by_warp},
     {"in turn", "by warp"},
     {0, 1},
     2,
     SUMS | INTEGERS},
    {.name = NULL},
};
