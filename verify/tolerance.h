// What error is still right: bounds for one output, given by the bench or derived (`auto`). docs/verify.md repeats this
// derivation for people.
//
// An element is measured by its scaled error: |out - ref| / (|ref| + s + c).
//   s: root mean square of the reference over the group of neighbours (a row, or a run of up to 65,536 elements) that
//   the
//      element belongs to. The scaled error is 1/2 or more for an output of zeros whatever the size of the values,
//      unlike an absolute error, and stays small for an element that is small by cancellation inside a sum of larger
//      ones, unlike a relative one.
//   c: the condition: how far the reference itself moves when its inputs move (verify/probe.h). Only looked for where
//      an output is wrong without it, so it is 0 in most trials.
//
// Bound for a type with unit in the last place u (of 1.0), where n is the number of inputs that one element depends on:
//   stored as f64, f32, tf32:   u (16 + 2 sqrt(n))   16: a handful of roundings and a fast exp or division (2-13 ULP)
//   stored as f16, bf16, fp8:   2 u + 2^-23 (16 + 2 sqrt(n))   sums are taken in f32; the result is rounded, and on the
//                               way three more times
//   f16, products of f16:       0.5 u sqrt(n) more: tensor cores and __hfma add them up in f16
// A sum of n rounded terms in any order errs by about 0.3 u sqrt(n) of its own size (Higham, Accuracy and Stability of
// Numerical Algorithms, 4.2: random roundings add up as a walk), so 2 sqrt(n) leaves a factor of six for the worst of
// many elements. Where all terms are equal, roundings all go one way: there u n / 2 is added. n is limited to 65,536:
// beyond that sums are trees or blocks, and the bound of f32 (6.3e-5) must stay below what rounding to f16 does
// (2.4e-4).
// The root mean square of the scaled errors must keep within half of the same bound (all of it for a single element),
// so that an output that rides everywhere on the edge is wrong too.
// `allowance`: an absolute error that never counts, for results below the smallest normal number: that number where
// flushing to zero is usual (f64, f32, tf32, bf16), one subnormal step where subnormals are kept (f16, fp8).
// Integers must be equal, but for steps that the reference takes, too, when its inputs move by a rounding.
#ifndef KB_VERIFY_TOLERANCE_H
#define KB_VERIFY_TOLERANCE_H
#include "bench/bench.h"
#include "verify/element_compare.h"

struct kb_sums {   // what is known of the sums behind an output
    double terms;  // inputs that one element depends on; at least 1
    bool measured; // by probes of the reference (verify/probe.h), else guessed from shapes
    bool products; // of f16 numbers
    bool equal;    // of equal terms
};
struct kb_bound {
    struct kbe_rule rule;   // for each element; fallback and group are filled by who knows the reference
    double scaled_rms;      // most of the root mean square of scaled errors, of many elements; infinity: none
    double rmse;            // most; infinity: none
    double psnr_db, cosine; // least; -infinity: none
    char metric[16];        // the one shown: "scaled", "exact", or the first that the bench gives
    double bound;           // of it; NAN for exact
    char why[256];
};
void kb_bound_for(const struct kb_tolerance *, enum kb_dtype, const struct kb_sums *, struct kb_bound *);
// For inputs that the bench did not choose (verify/stress.h): four times `auto`, since these tell whether a kernel
// breaks rather than how many digits it keeps; `exact` as it is. Bounds that a bench gives are made for its own inputs;
// on others they count as the share that they are of own_rms, the root mean square of the reference on the bench's
// inputs, or as `auto` where that is more.
void kb_bound_for_stress(const struct kb_tolerance *, enum kb_dtype, const struct kb_sums *, double own_rms,
                         struct kb_bound *);
void kb_bound_none(enum kb_dtype, struct kb_bound *); // only non-finite elements are wrong
// Of arithmetic in f32 (f64: in f64), whatever the output is stored as: what inputs are moved by in probes.
double kb_bound_working(enum kb_dtype, const struct kb_sums *);

// Elements a sum may run over: the largest input's elements for each element of the output, or the longest dimension
// of an input (attention sums over positions, a softmax over columns), whichever is more; at least 1. longest: by
// input.
double kb_terms(int inputs, const int64_t *input_elements, const int64_t *longest, int64_t output_elements);
// Length of the groups that share a scale: trailing dimensions until they hold 32 elements or more (else all), at most
// 65,536. At least 1.
uint64_t kb_scale_group(int ndim, const int64_t *shape);

#endif
