// Inputs that `verify` adds by itself: what a bench's own inputs seldom hold, and where kernels that look right break.
// docs/verify.md says the same for people. Each kind is a way to fill the inputs of a case; all stay in the domain that
// the bench's own fill names: any number (normal), positive ones (lognormal), numbers or integers between two bounds.
// Constants, zeros, files and fills that are hard themselves stay as they are.
#ifndef KB_VERIFY_HARD_H
#define KB_VERIFY_HARD_H
#include "bench/bench.h"
#include "verify/element_fill.h"

enum kb_stress { // by itself, on a small case
    KB_STRESS_LARGE,
    KB_STRESS_TINY,
    KB_STRESS_SMALL,
    KB_STRESS_CANCELLATION,
    KB_STRESS_EQUAL_ROWS,
    KB_STRESS_WHOLE,
    KB_STRESS_SPIKES,
    KB_STRESS_OFFSET,
    KB_STRESS_MIXED, // on timed cases and the largest in some param: each row of another kind; turned, where there are
                     // few rows
    KB_STRESS_MIXED_2,
    KB_STRESS_MIXED_3,
    KB_STRESS_MIXED_4,
    KB_STRESS_INFINITE, // likewise: infinities, where a case of the bench has them and rows are too few to hold them
    KB_STRESSES
};
const char *kb_stress_name(enum kb_stress);       // "large values", ...
enum kb_stress kb_stress_parse(const char *name); // KB_STRESSES: none is called so

struct kb_hard { // what decides besides the kind
    const struct kb_bench *bench;
    int case_index;
    const int64_t (*shape)[KB_MAX_DIMS]; // by argument
    const int64_t *elements;
    bool on_cpu;
};
// Whether the kind is tried on this case and changes an input. small: the case is the one for kinds by themselves.
bool kb_hard_applies(const struct kb_hard *, enum kb_stress, bool small);
// How an argument of this case is filled then. fill: as the bench has it; false: it stays so.
bool kb_hard_fill(const struct kb_hard *, enum kb_stress, int arg, struct kbe_fill *fill);
// All terms of a sum may be equal there.
bool kb_hard_has_equal_terms(enum kb_stress);
// The fill of an argument in a case.
const struct kb_fill *kb_hard_own_fill(const struct kb_bench *, int case_index, int arg);

#endif
