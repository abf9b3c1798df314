// Kernels for the counts, as snippets without inputs and results.
#ifndef KB_TESTS_PROBES_H
#define KB_TESTS_PROBES_H
#include "both/both.h"

// all: also those that repeat a pattern in another width or direction.
void both_probes(struct both_table *, bool all);

#endif
