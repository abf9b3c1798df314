// Sums to one scalar.
#include "tolerance/operators_parts.h"

#define SCALAR(name, json_args, fill)                                                                                  \
    "{'kbench':1,'name':'" name "','params':{'n':1000},'args':[" json_args                                             \
    "{'name':'y','role':'output','dtype':'f32','shape':[1]},{'name':'n','role':'scalar','dtype':'i32'}],"              \
    "'cases':[{'n':1000,'time':true},{'n':1},{'n':33},{'n':7777}]," TAIL
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

#define A_AND_B                                                                                                        \
    "{'name':'a','role':'input','dtype':'f32','shape':['n']},{'name':'b','role':'input','dtype':'f32','shape':['n']},"

const struct operator operators_scalars[] = {
    {"sum",
     SCALAR("sum", X_OF_N, ""),
     sum_ref,
     {in_turn_sum, by_warp_sum, by_block_sum},
     {"in turn", "by warp", "by block"},
     {0},
     1,
     SUMS},
    {"sum of 0 to 1",
     SCALAR("sum01", "{'name':'x','role':'input','dtype':'f32','shape':['n'],'fill':'uniform'},", ""),
     sum_ref,
     {in_turn_sum, by_warp_sum},
     {"in turn", "by warp"},
     {0},
     1,
     SUMS},
    {"dot",
     SCALAR("dot", A_AND_B, ""),
     dot_ref,
     {in_turn_dot, by_warp_dot, by_block_dot},
     {"in turn", "by warp", "by block"},
     {0, 1},
     2,
     SUMS},
    {"norm", SCALAR("norm", X_OF_N, ""), norm_ref, {norm_by_warp}, {"by warp"}, {0}, 1, SUMS},
    {.name = NULL},
};
