// Where the wrong elements of an output lie, in words (verify/pattern.h).
#ifndef KB_VERIFY_WHERE_H
#define KB_VERIFY_WHERE_H
#include "verify/trial.h"

enum { KB_WHERE_MOST = 1 << 20 }; // elements looked at

// Of a compared output with wrong elements: fills o->where, and puts it behind the reason of the output and that of the
// trial where these count the same elements. What run holds is looked at again on the host; of an output with more than
// KB_WHERE_MOST elements, the first matrices or rows, which the phrase says.
int kb_where_wrong(struct kb_data *, const struct kb_case_data *, const struct kb_set *, int run, struct kb_trial *,
                   struct kb_trial_output *, struct kb_error *);

#endif
