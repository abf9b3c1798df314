// What decides cannot be read or bent by a kernel: while one of a version runs, the reference's results and the scales
// of its groups lie in memory under a keyed stream, whose keys only the host knows, and what they hash to is known
// before. On a GPU a kernel may read all memory that the process has.
#ifndef KB_VERIFY_MASK_H
#define KB_VERIFY_MASK_H
#include "verify/data.h"

// The keys come from the kernel's random numbers, new for each kb_data.
void kb_mask_begin(struct kb_data *);
// Before a version is launched: what is readable anywhere is hashed once and masked; enqueued, next to nothing where
// all of it is. kb_data.masks false: only hashed (the CPU device lets no kernel read it).
int kb_mask_all(struct kb_data *, struct kb_error *);
// Before results are compared: those of one set are readable again. *bent: an argument whose results or scales are not
// what they were, else -1. Waits.
int kb_mask_open(struct kb_data *, struct kb_set *, int *bent, struct kb_error *);
// Results are about to be written anew: readable, and nothing is known of them.
void kb_mask_forget(struct kb_set *);

#endif
