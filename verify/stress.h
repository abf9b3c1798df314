// Sets of hard inputs (verify/hard.h): which ones a case meets, and making them.
#ifndef KB_VERIFY_STRESS_H
#define KB_VERIFY_STRESS_H
#include "verify/data.h"

// The case on which versions are tried with kinds by themselves, and again and again: the largest of the small ones,
// with the bench's own fills if there is one such. -1: none.
int kb_data_small_case(const struct kb_data *);

// Whether this case is to meet this kind at all.
bool kb_stress_applies(const struct kb_data *, const struct kb_case_data *, enum kb_stress);
// The set of this case, made when it is first asked for. *out NULL: there is none, and *why says why (static text): no
// reference kernel, the reference has no number there or takes long, no memory. -1: the device failed.
int kb_stress_set(struct kb_data *, struct kb_case_data *, enum kb_stress, struct kb_set **out, const char **why,
                  struct kb_error *);

#endif
