#include "verify/hard.h"

#include <math.h>
#include <string.h>

// Kinds of rows; with how many rows they hold infinities, too; how an array of one dimension is cut into rows.
enum { FEW_ROWS = 8, INFINITE_ROWS = 48, LINE_ROW = 1024 };

struct kind {
    const char *name;
    enum kbe_hard hard;
    int shift;     // of mixed rows
    bool timed;    // on timed cases, else on the small one
    bool anywhere; // makes sense between bounds, too
};
static const struct kind kinds[KB_STRESSES] = {
    [KB_STRESS_LARGE] = {"large values", KBE_LARGE, 0, false, true},
    [KB_STRESS_TINY] = {"tiny values", KBE_TINY, 0, false, false},
    [KB_STRESS_SMALL] = {"small values", KBE_SMALL, 0, false, false},
    [KB_STRESS_CANCELLATION] = {"cancellation", KBE_CANCELLING, 0, false, false},
    [KB_STRESS_EQUAL_ROWS] = {"equal rows", KBE_EQUAL_ROWS, 0, false, true},
    [KB_STRESS_WHOLE] = {"whole numbers", KBE_WHOLE, 0, false, true},
    [KB_STRESS_SPIKES] = {"spikes", KBE_SPIKES, 0, false, true},
    [KB_STRESS_OFFSET] = {"far from zero", KBE_OFFSET, 0, false, false},
    [KB_STRESS_MIXED] = {"hard rows", KBE_MIXED_ROWS, 0, true, true},
    [KB_STRESS_MIXED_2] = {"hard rows, turned by 2", KBE_MIXED_ROWS, 2, true, true},
    [KB_STRESS_MIXED_3] = {"hard rows, turned by 4", KBE_MIXED_ROWS, 4, true, true},
    [KB_STRESS_MIXED_4] = {"hard rows, turned by 6", KBE_MIXED_ROWS, 6, true, true},
    [KB_STRESS_INFINITE] = {"rows of -inf", KBE_PLAIN, 0, true, false},
};

const char *kb_stress_name(enum kb_stress kind)
{
    return kinds[kind].name;
}

enum kb_stress kb_stress_parse(const char *name)
{
    int kind = 0;
    while (kind < KB_STRESSES && strcmp(kb_stress_name((enum kb_stress)kind), name))
        kind++;
    return (enum kb_stress)kind;
}

bool kb_hard_has_equal_terms(enum kb_stress kind)
{
    return kinds[kind].hard == KBE_EQUAL_ROWS || kinds[kind].hard == KBE_MIXED_ROWS;
}

const struct kb_fill *kb_hard_own_fill(const struct kb_bench *b, int case_index, int arg)
{
    const struct kb_fill *own = b->cases[case_index].fills;
    return own && own[arg].kind != KB_FILLS ? &own[arg] : &b->args[arg].fill;
}

// Some case of the bench has infinities in this argument.
static bool meets_infinity(const struct kb_bench *b, int arg)
{
    for (int i = 0; i < b->case_count; i++)
        if (kb_hard_own_fill(b, i, arg)->kind == KB_FILL_NEG_INF_ROWS)
            return true;
    return false;
}

static uint64_t row_of(const struct kb_hard *h, int arg)
{
    int ndim = h->bench->args[arg].ndim;
    int64_t inner = ndim ? h->shape[arg][ndim - 1] : 1;
    if (ndim < 2 && inner > LINE_ROW)
        return LINE_ROW;
    return inner < 1 ? 1 : (uint64_t)inner;
}

static uint64_t rows_of(const struct kb_hard *h, int arg)
{
    return (uint64_t)h->elements[arg] / row_of(h, arg);
}

static bool can_harden(const struct kb_hard *h, enum kb_stress kind, int arg)
{
    enum kb_fill_kind fill = kb_hard_own_fill(h->bench, h->case_index, arg)->kind;
    bool is_float = kb_dtype_is_float(h->bench->args[arg].dtype);
    if (!kb_arg_is_read(h->bench->args[arg].role))
        return false;
    if (kind == KB_STRESS_INFINITE)
        return is_float && fill == KB_FILL_NORMAL && meets_infinity(h->bench, arg) && rows_of(h, arg) < INFINITE_ROWS;
    if (fill == KB_FILL_INTEGERS || (is_float && (fill == KB_FILL_UNIFORM || fill == KB_FILL_LOGNORMAL)))
        return kinds[kind].anywhere;
    return is_float && fill == KB_FILL_NORMAL;
}

// Rows of very different sizes need rows: what stands beside them (a weight for each column) keeps its size, else small
// results are its doing, and say nothing.
static bool is_beside_rows(const struct kb_hard *h, int arg)
{
    bool others = false;
    for (int i = 0; i < h->bench->arg_count; i++)
        others = others || (can_harden(h, KB_STRESS_SMALL, i) && rows_of(h, i) > 1);
    return others && rows_of(h, arg) < 2;
}

// Where an argument has fewer rows than there are kinds of rows, they take turns.
static bool has_few_rows(const struct kb_hard *h)
{
    for (int arg = 0; arg < h->bench->arg_count; arg++)
        if (can_harden(h, KB_STRESS_MIXED, arg) && rows_of(h, arg) < FEW_ROWS)
            return true;
    return false;
}

// No case has more of some param, and no timed one as much.
static bool is_largest(const struct kb_hard *h)
{
    for (int k = 0; k < h->bench->params.count; k++) {
        const char *name = h->bench->params.items[k].name;
        int64_t value = kb_case_param(h->bench, h->case_index, h->on_cpu, name);
        bool most = true;
        for (int i = 0; i < h->bench->case_count && most; i++) {
            int64_t other = kb_case_param(h->bench, i, h->on_cpu, name);
            most = i == h->case_index || (h->bench->cases[i].timed ? other < value : other <= value);
        }
        if (most && h->bench->case_count > 1)
            return true;
    }
    return false;
}

// What keeps a division from zero shows in results that are numbers. Where one is chosen by comparing sums (the nearest
// of several), rows of very different sizes only make the choice a matter of rounding.
static bool has_float_result(const struct kb_bench *b)
{
    for (int arg = 0; arg < b->arg_count; arg++)
        if (kb_arg_is_written(b->args[arg].role) && kb_dtype_is_float(b->args[arg].dtype))
            return true;
    return false;
}

bool kb_hard_applies(const struct kb_hard *h, enum kb_stress kind, bool small)
{
    const struct kb_case *c = &h->bench->cases[h->case_index];
    if (kinds[kind].timed ? !c->timed && (c->fills || !is_largest(h)) : !small)
        return false;
    if ((kinds[kind].shift && !has_few_rows(h)) || (kind == KB_STRESS_SMALL && !has_float_result(h->bench)))
        return false;
    for (int arg = 0; arg < h->bench->arg_count; arg++)
        if (can_harden(h, kind, arg))
            return true;
    return false;
}

// Values so large that exponentials overflow in the type they are taken in, and no larger than sums of their products
// bear.
static double large_of(enum kb_dtype dtype)
{
    switch (dtype) {
    case KB_F64:
        return 300;
    case KB_F16:
    case KB_E5M2:
        return 8;
    case KB_E4M3:
        return 4;
    default:
        return 100;
    }
}

// Squares are still normal numbers, for single precision fourth powers, too.
static double tiny_of(enum kb_dtype dtype)
{
    switch (dtype) {
    case KB_F64:
        return 0x1p-240;
    case KB_F16:
    case KB_E5M2:
        return 0x1p-6;
    case KB_E4M3:
        return 0x1p-2;
    default:
        return 0x1p-30;
    }
}

// What the narrowest type of all bears.
static double large_for(const struct kb_hard *h)
{
    double large = INFINITY;
    for (int i = 0; i < h->bench->arg_count; i++)
        large = h->bench->args[i].role == KB_SCALAR ? large : fmin(large, large_of(h->bench->args[i].dtype));
    return large;
}

static double tiny_for(const struct kb_hard *h)
{
    double tiny = 0;
    for (int i = 0; i < h->bench->arg_count; i++)
        if (h->bench->args[i].role != KB_SCALAR && kb_dtype_is_float(h->bench->args[i].dtype))
            tiny = fmax(tiny, tiny_of(h->bench->args[i].dtype));
    return tiny;
}

bool kb_hard_fill(const struct kb_hard *h, enum kb_stress kind, int arg, struct kbe_fill *fill)
{
    if (!can_harden(h, kind, arg) || (kind == KB_STRESS_SMALL && is_beside_rows(h, arg)))
        return false;
    if (kind == KB_STRESS_INFINITE) {
        fill->kind = KBE_NEG_INF_ROWS;
        return true;
    }
    fill->hard = (int)kinds[kind].hard;
    fill->shift = kinds[kind].hard == KBE_OFFSET ? arg : kinds[kind].shift;
    fill->large = large_for(h);
    fill->small = tiny_for(h);
    if (kinds[kind].hard == KBE_MIXED_ROWS) {
        fill->inner = row_of(h, arg);
        fill->even = !has_float_result(h->bench);
        fill->infinite = fill->kind == KBE_NORMAL && meets_infinity(h->bench, arg) && rows_of(h, arg) >= INFINITE_ROWS;
    }
    return true;
}
