// Filling an input set and running the reference on it.
#ifndef KB_VERIFY_FILL_H
#define KB_VERIFY_FILL_H
#include "verify/data.h"

// New values under a new number, then the reference's results, checked: everything written, nothing beside it, inputs
// kept. The error begins with "the reference itself" where that is at fault. Leaves s->ready false on failure.
int kb_set_fill(struct kb_data *, struct kb_case_data *, struct kb_set *, struct kb_error *);
// The two halves of that: values, hashes and guards of the inputs; results and scales of a set whose inputs are there.
int kb_set_inputs(struct kb_data *, const struct kb_case_data *, struct kb_set *, struct kb_error *);
int kb_set_reference(struct kb_data *, struct kb_case_data *, struct kb_set *, struct kb_error *);
// The key of the random numbers of one argument.
uint64_t kb_fill_key(uint64_t seed, uint64_t set, int case_index, int arg);

// How the values of an input in set number `set` come about; false: from a file.
bool kb_fill_of(const struct kb_data *, const struct kb_case_data *, uint64_t set, int arg, struct kbe_fill *);

#endif
