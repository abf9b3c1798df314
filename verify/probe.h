// The reference asked on inputs that moved by a little.
//
// Sums: how many inputs one element of the output depends on. One argument after the other, one element in four moves;
// the share f of outputs that stay as they were to the last bit says n = ln(f) / ln(3/4). Taken from the 64 neighbours
// that depend on most; where all of these change, one in 32 moves; where they still do, or suddenly none does (they
// depend on the same elements), shapes decide. So what is computed element by element has n = 1, however long the array
// is.
//
// Condition: how far the reference itself moves when inputs move by a share d, the error that arithmetic in single
// precision is allowed (kb_bound_working), or two steps of the input's type if that is more. The largest of several
// probes, since one alone may miss: all values of all arguments up (terms of one sign, or equal ones, err together);
// one argument up and the next down (what a ratio depends on); all values higher (sums of both signs, whose terms of
// one sign are added up first); each row at random, four times; each element at random,
// four times, and eleven times where there are few outputs or integer ones. An element counts at least as the root mean
// square of its group.
//   floating outputs: (what it moved by) / d, times the share of the bound that stands for arithmetic rather than for
//   rounding the result; integer outputs: the steps.
// Outputs of narrow types: kernels round to the type on the way, too, such as the weights of a sum. Where a result is
// linear in an argument, it is a sum of that argument's elements with weights, and moving that argument alone tells
// what rounding each weight does: it counts in full.
#ifndef KB_VERIFY_PROBE_H
#define KB_VERIFY_PROBE_H
#include "verify/data.h"

// Fills c->sums from a set that has its reference; leaves it alone where that would take long. -1: the device failed.
int kb_probe_sums(struct kb_data *, struct kb_case_data *, struct kb_set *, struct kb_error *);
// Fills s->condition, if it is not there. s->probed stays false where it cannot be had: the reference is a file, no
// input is a floating type, no memory. -1: the device failed.
int kb_probe_condition(struct kb_data *, struct kb_case_data *, struct kb_set *, struct kb_error *);

#endif
