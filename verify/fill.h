// Filling an input set and running the reference on it.
#ifndef KB_VERIFY_FILL_H
#define KB_VERIFY_FILL_H
#include "verify/data.h"

// New values under a new number, then the reference's results, checked: everything written, nothing beside it, inputs
// kept. The error begins with "the reference itself" where that is at fault. Leaves s->ready false on failure.
int kb_set_fill(struct kb_data *, struct kb_case_data *, struct kb_set *, struct kb_error *);
// The same for a filled set, but only a 64th of the values is new, the others stay: what samples of the inputs do not
// show. s->base says from which number on. A set that was touched before gets new values throughout.
int kb_set_touch(struct kb_data *, struct kb_case_data *, struct kb_set *, struct kb_error *);
// The two halves of that: values, hashes and guards of the inputs; results and scales of a set whose inputs are there.
int kb_set_inputs(struct kb_data *, const struct kb_case_data *, struct kb_set *, struct kb_error *);
int kb_set_reference(struct kb_data *, struct kb_case_data *, struct kb_set *, struct kb_error *);
// The results alone, on whatever the inputs hold.
int kb_set_results(struct kb_data *, struct kb_case_data *, struct kb_set *, struct kb_error *);
// The key of the random numbers of one argument.
uint64_t kb_fill_key(uint64_t seed, uint64_t set, int case_index, int arg);

// How the values of an input in set number `set` come about, touched from `base` (0: not); false: from a file.
bool kb_fill_of(const struct kb_data *, const struct kb_case_data *, uint64_t set, uint64_t base, int arg,
                struct kbe_fill *);
// The same for a set of this case, hard inputs too.
bool kb_set_fill_of(const struct kb_data *, const struct kb_case_data *, const struct kb_set *, int arg,
                    struct kbe_fill *);

#endif
