// Inputs that `verify` adds by itself: what a bench's own inputs seldom hold, and where kernels that look right break.
// docs/verify.md says the same for people.
//
// Only inputs that may be any number are replaced: floating types filled with the standard normal distribution. An
// input with a distribution of its own (uniform from 0 to 1, a file) keeps it, since the operator may not be defined
// elsewhere. Benches with an integer output have none: there every rounding at an edge counts as wrong.
//
// How far honest kernels are off on such inputs does not follow from the size of the result (a sum that cancels is
// small, its rounding errors are not), so the reference says it: it runs again on inputs changed by a share delta, at
// random, and (change of the result) / delta joins the scale of an element's error (verify/tolerance.h).
#ifndef KB_VERIFY_STRESS_H
#define KB_VERIFY_STRESS_H
#include "verify/data.h"

enum kb_stress {
    KB_STRESS_LARGE,
    KB_STRESS_TINY,
    KB_STRESS_CANCELLATION,
    KB_STRESS_EQUAL_ROWS,
    KB_STRESS_WHOLE,
    KB_STRESS_SPIKES,
    KB_STRESS_OFFSET,
    KB_STRESSES
};
const char *kb_stress_name(enum kb_stress); // "large values", ...

// The case on which versions are tried with such inputs, and again and again: the largest of the small ones, with the
// bench's own fills if there is one such. -1: none.
int kb_data_small_case(const struct kb_data *);

// The set of this case, made when it is first asked for. *out NULL: there is none (no reference kernel, no input that
// may be replaced, the reference has no number there, no memory). -1: the device failed.
int kb_stress_set(struct kb_data *, struct kb_case_data *, enum kb_stress, struct kb_set **out, struct kb_error *);

#endif
