// Kernels for the counts, as snippets without inputs and results.
#ifndef KB_TESTS_PROBES_H
#define KB_TESTS_PROBES_H
#include "both/both.h"

void both_probes(struct both_table *);

#endif
