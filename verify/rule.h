// What decides whether one output on one set of inputs is right: the bound (verify/tolerance.h) with what the set's
// reference says. The same for cases, inputs that verify adds, repeated calls and timed launches.
#ifndef KB_VERIFY_RULE_H
#define KB_VERIFY_RULE_H
#include "verify/data.h"

// sums as they are on this set.
struct kb_sums kb_rule_sums(const struct kb_case_data *, const struct kb_set *);
void kb_rule_for(const struct kb_data *, const struct kb_case_data *, const struct kb_set *, int arg,
                 struct kb_bound *);
// The set's reference for an output, with its condition if the set was probed and `conditioned` asks for it.
struct kb_wanted kb_rule_wanted(const struct kb_set *, int arg, bool conditioned);
// Root mean square of the reference of this output on inputs of the bench's own; 0: none was made yet.
double kb_rule_own_rms(const struct kb_case_data *, int arg);

#endif
