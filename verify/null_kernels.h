// Stand-ins that compute nothing. If the check lets one pass, it is the bench that is too weak, not a kernel right.
#ifndef KB_VERIFY_NULL_KERNELS_H
#define KB_VERIFY_NULL_KERNELS_H
#include "verify/data.h"

// Runs zeros, a constant, a copy of an input, noise of the reference's size, the mean of each row and the result of
// other inputs through the comparison with a filled set (which gets new values for the last one where the reference is
// quick), and puts into c->weak which of them passes ("" if none, or if there is nothing to tell: no reference, outputs
// of one element, a constant reference). Writes to work[0]. -1 if the device fails.
int kb_null_kernels(struct kb_data *, struct kb_case_data *, struct kb_set *, struct kb_error *);

#endif
