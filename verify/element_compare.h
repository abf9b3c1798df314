// Comparison of an element with the reference, and its sums. As element.h: the same bits on a GPU and in loops.
#ifndef KB_VERIFY_ELEMENT_COMPARE_H
#define KB_VERIFY_ELEMENT_COMPARE_H
#include "element.h"

// ---- comparison ----

struct kbe_rule { // an element is wrong where it exceeds one of these; infinity where there is no such bound
    double max_abs, max_rel, max_ulp;
    double scaled; // |out - ref| <= scaled * (|ref| + scale + condition) + allowance
    double allowance;
    double fallback; // scale of groups whose own is 0
    kbe_u64 group;   // elements a scale
    int dtype;
    int exact; // bits must equal those of the reference in the output's type
};
struct kbe_wanted {                  // what an output is compared with; on the side that compares
    const void *ref;                 // doubles for floating outputs, else the output's own type
    const double *scale, *condition; // one a group, one an element; null: 0
};
struct kbe_part {                              // partial or whole result; indices KBE_NO_INDEX where there is none
    double max_abs, max_rel, max_scaled, peak; // peak: max |ref|
    double sum_sq_err, sum_sq_ref, sum_sq_out, sum_sq_scaled, dot;
    double ref_min, ref_max;
    kbe_u64 max_ulp, mismatches;
    kbe_u64 nonfinite;      // output non-finite where the reference is a number
    kbe_u64 nonfinite_both; // non-finite in both and of the same kind, or as the type forces it
    kbe_u64 invented;       // a number where the reference is NaN or infinite
    kbe_u64 finite;         // pairs of numbers: what the sums go over
    kbe_u64 zero_ref;       // of these, the reference is 0 (max_rel leaves them out)
    kbe_u64 inexact;        // bits differ from the reference rounded to the output's type
    kbe_u64 first_bad;
};
KBE_FN void kbe_part_zero(struct kbe_part *p)
{
    p->max_abs = p->max_rel = p->max_scaled = p->peak = 0;
    p->sum_sq_err = p->sum_sq_ref = p->sum_sq_out = p->sum_sq_scaled = p->dot = 0;
    p->ref_min = kbe_from_bits(KBE_INF_BITS);
    p->ref_max = -p->ref_min;
    p->max_ulp = p->mismatches = p->nonfinite = p->nonfinite_both = p->finite = p->zero_ref = p->inexact = p->invented =
        0;
    p->first_bad = KBE_NO_INDEX;
}
KBE_FN void kbe_part_merge(struct kbe_part *a, const struct kbe_part *b)
{
    a->max_abs = kbe_max(a->max_abs, b->max_abs);
    a->max_rel = kbe_max(a->max_rel, b->max_rel);
    a->max_scaled = kbe_max(a->max_scaled, b->max_scaled);
    a->peak = kbe_max(a->peak, b->peak);
    a->sum_sq_err = KBE_ADD(a->sum_sq_err, b->sum_sq_err);
    a->sum_sq_ref = KBE_ADD(a->sum_sq_ref, b->sum_sq_ref);
    a->sum_sq_out = KBE_ADD(a->sum_sq_out, b->sum_sq_out);
    a->sum_sq_scaled = KBE_ADD(a->sum_sq_scaled, b->sum_sq_scaled);
    a->dot = KBE_ADD(a->dot, b->dot);
    a->ref_min = kbe_min(a->ref_min, b->ref_min);
    a->ref_max = kbe_max(a->ref_max, b->ref_max);
    a->max_ulp = kbe_umax(a->max_ulp, b->max_ulp);
    a->mismatches += b->mismatches;
    a->nonfinite += b->nonfinite;
    a->nonfinite_both += b->nonfinite_both;
    a->invented += b->invented;
    a->finite += b->finite;
    a->zero_ref += b->zero_ref;
    a->inexact += b->inexact;
    a->first_bad = kbe_umin(a->first_bad, b->first_bad);
}

// Position of a code on the type's own number line: neighbours differ by 1, +0 and -0 are one point.
KBE_FN kbe_i64 kbe_ordered(int dtype, kbe_u64 code)
{
    if (dtype == KBE_TF32)
        code >>= 13;
    int width = kbe_exponent_bits(dtype) + kbe_fraction_bits(dtype);
    kbe_i64 mag = (kbe_i64)(code & ((1ull << width) - 1));
    return (code >> width) & 1 ? -mag : mag;
}
KBE_FN kbe_u64 kbe_ulp(int dtype, kbe_u64 a, kbe_u64 b)
{
    kbe_i64 x, y;
    if (kbe_is_float_type(dtype)) {
        x = kbe_ordered(dtype, a);
        y = kbe_ordered(dtype, b);
    } else {
        int unused = 64 - 8 * kbe_size(dtype);
        x = dtype == KBE_U8 ? (kbe_i64)a : (kbe_i64)(a << unused) >> unused;
        y = dtype == KBE_U8 ? (kbe_i64)b : (kbe_i64)(b << unused) >> unused;
    }
    return x < y ? (kbe_u64)y - (kbe_u64)x : (kbe_u64)x - (kbe_u64)y;
}

enum kbe_state { KBE_NUMBERS, KBE_NONFINITE_BOTH, KBE_NONFINITE_WRONG };
struct kbe_diff {    // of one element
    double out, ref; // ref as a double, not rounded
    double err, rel, scaled;
    kbe_u64 ulp;
    int bad, same_bits;
    enum kbe_state state;
};
// What counts as equal among non-finite values (docs/verify.md): NaN with NaN, infinity with infinity of that sign. A
// reference beyond the output type's range counts as the infinity that it rounds to (e4m3: its largest number or NaN).
KBE_FN int kbe_nonfinite_equal(int dtype, double out, double ref, double rounded)
{
    if (kbe_is_nan(out))
        return kbe_is_nan(ref) || (dtype == KBE_E4M3 && kbe_abs(ref) > 448.0);
    if (kbe_is_nan(ref))
        return 0;
    return out == ref || out == rounded;
}
KBE_FN double kbe_largest(int dtype) // finite number of a floating type
{
    int e = kbe_exponent_bits(dtype), m = kbe_fraction_bits(dtype);
    kbe_u64 top = ((1ull << e) - 1) << m;
    kbe_u64 code = dtype == KBE_E4M3 ? 0x7e : top - 1;
    return kbe_decode(dtype, dtype == KBE_TF32 ? code << 13 : code);
}
// What the type forces on any kernel: a result or a term (condition: what is added up) next to the end of its range or
// beyond may come out as infinity, as NaN, or, where conversions saturate, as the largest number. room: the error that
// is allowed.
KBE_FN int kbe_forced(int dtype, double out, double ref, double condition, double room)
{
    double size = kbe_abs(ref), largest = kbe_largest(dtype);
    if (!kbe_finite(ref))
        return 0;
    if (KBE_ADD(size, condition) >= largest && condition > 0)
        return !kbe_finite(out) || kbe_abs(out) == largest;
    if (KBE_ADD(size, room) < largest || kbe_is_nan(out) || (out < 0) != (ref < 0))
        return 0;
    return !kbe_finite(out) || (kbe_abs(out) == largest && kbe_size(dtype) <= 2) || kbe_abs(KBE_ADD(out, -ref)) <= room;
}
// code: the output's bits; ref_code: the reference's (a double for floating outputs, the same type for integers).
// condition: of a floating output, how far the reference moves for a change of the inputs (verify/probe.h); of an
// integer one the steps that may be off.
KBE_FN void kbe_diff_of(const struct kbe_rule *r, kbe_u64 code, kbe_u64 ref_code, double scale, double condition,
                        struct kbe_diff *d)
{
    int is_float = kbe_is_float_type(r->dtype);
    kbe_u64 rounded = is_float ? kbe_encode(r->dtype, kbe_from_bits(ref_code)) : ref_code;
    d->out = kbe_decode(r->dtype, code);
    d->ref = is_float ? kbe_from_bits(ref_code) : kbe_decode(r->dtype, ref_code);
    d->same_bits = code == rounded;
    d->err = d->rel = d->scaled = 0;
    d->ulp = 0;
    double reached = kbe_decode(r->dtype, rounded), size = kbe_abs(d->ref);
    double whole = KBE_ADD(KBE_ADD(size, scale > 0 ? scale : r->fallback), is_float ? condition : 0.0);
    if (!r->exact && is_float && !kbe_finite(condition)) { // a number or none, by the least change of the inputs
        d->state = KBE_NONFINITE_BOTH;
        d->bad = 0;
        return;
    }
    if (!kbe_finite(d->out) || !kbe_finite(reached) || (is_float && size > kbe_largest(r->dtype))) {
        double room = kbe_finite(r->scaled) ? KBE_MUL(r->scaled, whole) : 0.0;
        // A reference that moves by a tenth of itself for the least change of the inputs says nothing.
        int lost = kbe_finite(r->scaled) && KBE_MUL(r->scaled, condition) > KBE_MUL(0.1, size);
        int equal = kbe_nonfinite_equal(r->dtype, d->out, d->ref, reached) ||
                    (!r->exact && (lost || kbe_forced(r->dtype, d->out, d->ref, condition, room)));
        d->state = equal ? KBE_NONFINITE_BOTH : KBE_NONFINITE_WRONG;
        d->bad = d->state == KBE_NONFINITE_WRONG || (r->exact && !d->same_bits && !kbe_is_nan(d->ref));
        return;
    }
    d->state = KBE_NUMBERS;
    d->ulp = kbe_ulp(r->dtype, code, rounded);
    d->err = is_float ? kbe_abs(KBE_ADD(d->out, -d->ref)) : (double)d->ulp;
    double over = KBE_ADD(d->err, -r->allowance);
    if (size > 0)
        d->rel = KBE_DIV(d->err, size);
    if (over > 0) // with nothing to scale by, the error counts as it is
        d->scaled = whole > 0 ? KBE_DIV(over, whole) : over;
    int differs = r->exact && !d->same_bits && (is_float || (double)d->ulp > condition);
    d->bad =
        d->err > r->max_abs || (d->rel > r->max_rel) || d->scaled > r->scaled || (double)d->ulp > r->max_ulp || differs;
}
KBE_FN void kbe_part_add(struct kbe_part *p, const struct kbe_diff *d, kbe_u64 index)
{
    if (d->bad) {
        p->mismatches++;
        p->first_bad = kbe_umin(p->first_bad, index);
    }
    p->inexact += !d->same_bits && !(kbe_is_nan(d->out) && kbe_is_nan(d->ref));
    if (d->state != KBE_NUMBERS) {
        p->nonfinite += !kbe_finite(d->out) && kbe_finite(d->ref) && d->state == KBE_NONFINITE_WRONG;
        p->nonfinite_both += d->state == KBE_NONFINITE_BOTH;
        p->invented += kbe_finite(d->out) && d->state == KBE_NONFINITE_WRONG;
        return;
    }
    p->finite++;
    p->zero_ref += d->ref == 0;
    p->max_abs = kbe_max(p->max_abs, d->err);
    p->max_rel = kbe_max(p->max_rel, d->rel);
    p->max_scaled = kbe_max(p->max_scaled, d->scaled);
    p->peak = kbe_max(p->peak, kbe_abs(d->ref));
    p->ref_min = kbe_min(p->ref_min, d->ref);
    p->ref_max = kbe_max(p->ref_max, d->ref);
    p->max_ulp = kbe_umax(p->max_ulp, d->ulp);
    p->sum_sq_err = KBE_ADD(p->sum_sq_err, KBE_MUL(d->err, d->err));
    p->sum_sq_ref = KBE_ADD(p->sum_sq_ref, KBE_MUL(d->ref, d->ref));
    p->sum_sq_out = KBE_ADD(p->sum_sq_out, KBE_MUL(d->out, d->out));
    p->sum_sq_scaled = KBE_ADD(p->sum_sq_scaled, KBE_MUL(d->scaled, d->scaled));
    p->dot = KBE_ADD(p->dot, KBE_MUL(d->out, d->ref));
}

// By how much an element of the reference moved: floating outputs times a factor, integer ones in steps. From a number
// to none, or back: infinitely far.
KBE_FN double kbe_moved_by(int dtype, kbe_u64 now, kbe_u64 before, double factor)
{
    if (!kbe_is_float_type(dtype))
        return (double)kbe_ulp(dtype, now, before);
    double a = kbe_from_bits(now), b = kbe_from_bits(before), by = kbe_abs(KBE_ADD(a, -b));
    if (kbe_finite(a) != kbe_finite(b))
        return kbe_from_bits(KBE_INF_BITS);
    return kbe_finite(by) ? KBE_MUL(by, factor) : 0.0;
}

// A map of the output: cells over its last two dimensions, earlier ones folded onto each other.
struct kbe_map {
    kbe_u64 columns, rows;           // last and last but one dimension
    kbe_u64 cell_columns, cell_rows; // at most KBE_MAP_COLUMNS x KBE_MAP_ROWS
};
enum { KBE_MAP_ROWS = 16, KBE_MAP_COLUMNS = 32 };
KBE_FN int kbe_map_cell(const struct kbe_map *m, kbe_u64 i)
{
    kbe_u64 column = i % m->columns, row = i / m->columns % m->rows;
    return (int)(row * m->cell_rows / m->rows * m->cell_columns + column * m->cell_columns / m->columns);
}

#endif
