// Values of inputs: the fills of benches, the hard inputs that verify adds (verify/stress.h), and small changes of
// values by which the reference is probed (verify/probe.h). As element.h: the same bits on a GPU and in loops.
#ifndef KB_VERIFY_ELEMENT_FILL_H
#define KB_VERIFY_ELEMENT_FILL_H
#include "element.h"

// ---- fills ----

// Inputs that are harder than what a fill makes of itself. Each is a shape of numbers about 0 and of size 1, which is
// then brought into the fill's domain.
enum kbe_hard {
    KBE_PLAIN,
    KBE_LARGE,
    KBE_TINY,
    KBE_SMALL,
    KBE_CANCELLING,
    KBE_EQUAL_ROWS,
    KBE_WHOLE,
    KBE_SPIKES,
    KBE_OFFSET,
    KBE_MIXED_ROWS
};
struct kbe_fill {
    kbe_u64 key;   // from seed, set, case and argument
    kbe_u64 inner; // length of the innermost dimension, at least 1
    kbe_u64 rows;  // elements / inner
    double a, b;   // low, high; or mean, std; or value
    int kind, dtype;
    kbe_u64 other;       // key of the values that a 64th of the elements has instead; 0: none has
    int hard, shift;     // enum kbe_hard; MIXED_ROWS: the kind of row 0; OFFSET: odd: the first row lies below zero
    double large, small; // what hard inputs take for large and for small
    int infinite;        // MIXED_ROWS: some rows are -inf, all or half
    int even;            // MIXED_ROWS: none is of another size than the others for its own sake
};

KBE_FN kbe_u64 kbe_subnormal(int dtype, kbe_u64 h)
{
    if (!kbe_is_float_type(dtype))
        return h & 1;
    int m = kbe_fraction_bits(dtype), e = kbe_exponent_bits(dtype);
    // three of four below the smallest normal number, one just above
    kbe_u64 code = (h & ((1ull << m) - 1)) | ((h >> 60) == 0 || (h >> 60) == 5 || (h >> 60) > 13 ? 1ull << m : 0);
    code |= ((h >> 59) & 1) << (m + e);
    return dtype == KBE_TF32 ? code << 13 : code;
}
KBE_FN double kbe_fill_double(const struct kbe_fill *f, kbe_u64 i, kbe_u64 h)
{
    switch (f->kind) {
    case KBE_UNIFORM:
        return KBE_ADD(f->a, KBE_MUL(KBE_ADD(f->b, -f->a), kbe_unit(h)));
    case KBE_LOGNORMAL:
        return kbe_exp(KBE_ADD(f->a, KBE_MUL(f->b, kbe_normal(kbe_unit(h)))));
    case KBE_CONSTANT:
        return f->a;
    case KBE_ZEROS:
        return 0.0;
    case KBE_INTEGERS:
        return KBE_ADD(f->a, (double)(h % (kbe_u64)KBE_ADD(KBE_ADD(f->b, -f->a), 1.0)));
    case KBE_CANCELLATION: { // neighbours of opposite sign and equal size, apart from 1/4096 of noise
        double large = KBE_MUL(f->b, KBE_ADD(1.0, kbe_unit(kbe_random(~f->key, i >> 1))));
        double noise = KBE_MUL(KBE_MUL(f->b, 0x1p-12), kbe_normal(kbe_unit(h)));
        return KBE_ADD(f->a, KBE_ADD((i & 1) ? -large : large, noise));
    }
    case KBE_NEG_INF_ROWS: {
        kbe_u64 row = i / f->inner;
        int whole = f->rows > 1 && (row == 1 || (kbe_random(~f->key, row) & 15) == 0);
        if (whole || (f->inner > 1 && (h & 0xf00) == 0 && (i % f->inner) != 0))
            return kbe_from_bits(1ull << 63 | KBE_INF_BITS);
        return KBE_ADD(f->a, KBE_MUL(f->b, kbe_normal(kbe_unit(h))));
    }
    default:
        return KBE_ADD(f->a, KBE_MUL(f->b, kbe_normal(kbe_unit(h))));
    }
}
// ---- hard inputs ----

// -2 to 2 with zeros of both signs, so that there are ties everywhere; every second row begins as the one before it,
// and one in eight has no positive numbers.
KBE_FN double kbe_hard_whole(const struct kbe_fill *f, kbe_u64 row, kbe_u64 column)
{
    kbe_u64 from = column < f->inner / 2 ? row & ~1ull : row;
    int v = (int)(kbe_random(f->key, from * f->inner + column) >> 61); // 0 to 7
    if ((row & 7) == 7) // nothing above zero, so that zeros of both signs are the largest
        v = v > 4 ? v - 4 : v;
    return v == 0 ? -2.0 : v < 3 ? -1.0 : v == 3 ? -0.0 : v == 4 ? 0.0 : v < 7 ? 1.0 : 2.0;
}
// Neighbours of opposite sign that agree in the upper half of their digits.
KBE_FN double kbe_hard_cancelling(const struct kbe_fill *f, kbe_u64 i, double z)
{
    double size = KBE_ADD(1.0, kbe_unit(kbe_random(~f->key, i >> 1)));
    int half = (kbe_fraction_bits(f->dtype) + 1) / 2;
    double noise = KBE_MUL(KBE_MUL(size, kbe_from_bits((kbe_u64)(1023 - half) << 52)), z);
    return KBE_ADD((i & 1) ? -size : size, noise);
}
// One large value a row among normal numbers: at the end, at the start, where a warp ends, or anywhere. Of the last two
// every second has a twin anywhere: which of two equal ones a kernel takes should not depend on who meets whom.
KBE_FN double kbe_hard_spike(const struct kbe_fill *f, kbe_u64 row, kbe_u64 column, double z, int where)
{
    kbe_u64 last = f->inner - 1, any = kbe_random(~f->key, row) % f->inner;
    kbe_u64 at = where == 0 ? last : where == 1 ? 0 : where == 2 && (any | 31) < last ? any | 31 : any;
    kbe_u64 twin = where < 2 ? 0 : kbe_random(f->key ^ f->inner, row);
    return column == at || ((twin & 1) && column == (twin >> 1) % f->inner) ? f->large : z;
}
// A row on one side of zero, its mean far larger than its spread; narrow types bear less. The first rows of
// neighbouring arguments lie on opposite sides: a product of the two has nothing above zero (the only score that a
// causal row 0 sees).
KBE_FN double kbe_hard_offset(const struct kbe_fill *f, kbe_u64 row, double z)
{
    double mean = f->large < 100.0 ? f->large : KBE_MUL(10.0, f->large);
    int above = row ? (int)(kbe_random(~f->key, row) >> 63) : !(f->shift & 1);
    return KBE_ADD(above ? mean : -mean, z);
}
// Rows of sizes from 1/256 to 256, or as far as the type bears it.
KBE_FN double kbe_hard_scaled(const struct kbe_fill *f, kbe_u64 row, double z)
{
    int most = f->large >= 100.0 ? 8 : f->large >= 8.0 ? 2 : 1;
    int e = (int)(kbe_random(~f->key, row) % (kbe_u64)(2 * most + 1)) - most;
    return KBE_MUL(z, kbe_from_bits((kbe_u64)(1023 + e) << 52));
}
// Rows of sizes from 2^-5 on down, where what keeps a division from zero begins to count.
KBE_FN double kbe_hard_small(const struct kbe_fill *f, kbe_u64 row, double z)
{
    int most = f->large >= 100.0 ? 12 : 4, first = f->large >= 100.0 ? 5 : 2;
    int e = first + (int)(kbe_random(~f->key, row) % (kbe_u64)most);
    return KBE_MUL(z, kbe_from_bits((kbe_u64)(1023 - e) << 52));
}
// Everything at once, row by row: for arrays so large that each kind by itself would take long.
KBE_FN double kbe_hard_mixed(const struct kbe_fill *f, kbe_u64 row, kbe_u64 column, double z)
{
    switch ((row + (kbe_u64)f->shift) & 7) {
    case 0:
        return KBE_MUL(f->large, z);
    case 1:
        return kbe_normal(kbe_unit(kbe_random(f->key, row)));
    case 2:
    case 3:
        return kbe_hard_spike(f, row, column, z, (int)((row + (kbe_u64)f->shift) & 1));
    case 4:
        return kbe_hard_offset(f, row, z);
    case 5:
        return f->even ? z : kbe_hard_scaled(f, row, z);
    case 6:
        return kbe_hard_spike(f, row, column, z, 2 + (int)(row >> 3 & 1));
    default: // one half of the row is smaller than the other, or is no number
        if (f->infinite && (row >> 3 & 1) && (column < f->inner / 2 || (row >> 4 & 1)))
            return kbe_from_bits(1ull << 63 | KBE_INF_BITS);
        return column < f->inner / 2 ? KBE_MUL(0.25, z) : z;
    }
}
KBE_FN double kbe_hard_shape(const struct kbe_fill *f, kbe_u64 i, kbe_u64 h)
{
    double z = kbe_normal(kbe_unit(h));
    kbe_u64 row = i / f->inner, column = i % f->inner;
    switch (f->hard) {
    case KBE_LARGE:
        return KBE_MUL(f->large, z);
    case KBE_TINY:
        return KBE_MUL(f->small, z);
    case KBE_SMALL:
        return kbe_hard_small(f, row, z);
    case KBE_CANCELLING:
        return kbe_hard_cancelling(f, i, z);
    case KBE_EQUAL_ROWS:
        return kbe_normal(kbe_unit(kbe_random(f->key, row)));
    case KBE_WHOLE:
        return kbe_hard_whole(f, row, column);
    case KBE_SPIKES:
        return kbe_hard_spike(f, row, column, z, (int)(row & 3));
    case KBE_OFFSET:
        return kbe_hard_offset(f, row, z);
    default:
        return kbe_hard_mixed(f, row, column, z);
    }
}
// Into the domain: numbers of any size, positive ones, or those between two bounds (which themselves are left out
// where the fill leaves them out).
KBE_FN double kbe_hard_double(const struct kbe_fill *f, kbe_u64 i, kbe_u64 h)
{
    double v = kbe_hard_shape(f, i, h), share = KBE_ADD(0.5, KBE_MUL(0.25, v));
    switch (f->kind) {
    case KBE_UNIFORM:
        share = kbe_max(kbe_min(share, 0.9990234375), 0.0009765625);
        return KBE_ADD(f->a, KBE_MUL(KBE_ADD(f->b, -f->a), share));
    case KBE_INTEGERS: {
        double count = KBE_ADD(KBE_ADD(f->b, -f->a), 1.0), at = KBE_MUL(count, kbe_max(kbe_min(share, 1.0), 0.0));
        return KBE_ADD(f->a, (double)(kbe_i64)kbe_min(at, KBE_ADD(count, -1.0)));
    }
    case KBE_LOGNORMAL:
        return kbe_exp(KBE_ADD(f->a, KBE_MUL(f->b, kbe_max(kbe_min(v, 4.0), -4.0))));
    default: // whole numbers stay such, whatever the spread; and minus zero what it is
        if (f->hard == KBE_WHOLE)
            return v;
        return f->a == 0 ? KBE_MUL(f->b, v) : KBE_ADD(f->a, KBE_MUL(f->b, v));
    }
}

// A 64th of the elements, one at least; for every second key that one alone, which no sample of the inputs shows.
KBE_FN int kbe_fill_replaced(const struct kbe_fill *f, kbe_u64 i)
{
    return f->other && ((!(f->other & 1) && (kbe_random(~f->other, i) & 63) == 0) ||
                        i == f->other % kbe_umax(f->inner * f->rows, 1));
}
KBE_FN kbe_u64 kbe_fill_code(const struct kbe_fill *f, kbe_u64 i)
{
    kbe_u64 h = kbe_random(kbe_fill_replaced(f, i) ? f->other : f->key, i);
    if (f->hard)
        return kbe_encode(f->dtype, kbe_hard_double(f, i, h));
    return f->kind == KBE_DENORMALS ? kbe_subnormal(f->dtype, h) : kbe_encode(f->dtype, kbe_fill_double(f, i, h));
}

// ---- probes: inputs that moved by a little ----

enum kbe_move {
    KBE_MOVE_UP,
    KBE_MOVE_DOWN,
    KBE_MOVE_HIGHER,
    KBE_MOVE_ROWS,
    KBE_MOVE_RANDOM,
    KBE_MOVE_VALUES, // at random, but equal values the same way: what ties goes on to tie
    KBE_MOVE_SOME
};
struct kbe_probe {
    kbe_u64 key;     // of the signs, or of which elements
    kbe_u64 inner;   // length of a row
    kbe_u64 one_of;  // SOME: one element of so many moves
    double delta;    // share by which a value moves
    int move, dtype; // enum kbe_move; a floating type
};
KBE_FN kbe_u64 kbe_probe_code(const struct kbe_probe *p, kbe_u64 code, kbe_u64 i)
{
    double v = kbe_decode(p->dtype, code);
    if (p->move == KBE_MOVE_SOME) { // whether a result depends on it at all, so zeros move, too
        if (kbe_random(p->key, i) % p->one_of || !kbe_finite(v))
            return code;
        return kbe_encode(p->dtype, v == 0 ? p->delta : KBE_MUL(v, KBE_ADD(1.0, p->delta)));
    }
    int by_value = p->move == KBE_MOVE_VALUES;
    kbe_u64 h = kbe_random(p->key, p->move == KBE_MOVE_ROWS ? i / p->inner : by_value ? kbe_bits(v) : i);
    int up = p->move == KBE_MOVE_UP || (p->move != KBE_MOVE_DOWN && h >> 63);
    if (p->move == KBE_MOVE_HIGHER) // positive ones away from zero, negative ones towards it
        up = v > 0;
    double share = p->delta;
    if (p->move == KBE_MOVE_RANDOM ||
        p->move == KBE_MOVE_VALUES) // two sizes of one sign each would be a pattern of their own
        share = KBE_MUL(share, KBE_ADD(0.5, kbe_unit(h << 1)));
    return kbe_encode(p->dtype, KBE_MUL(v, KBE_ADD(1.0, up ? share : -share)));
}

#endif
