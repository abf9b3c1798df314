// Samples by place in the code, from JSON.
#ifndef KB_JIT_SASS_SAMPLES_H
#define KB_JIT_SASS_SAMPLES_H
#include "jit/sass_diff.h"

// {"kernels":[{"name", "pcs":[[offset, samples, ...], ...]}]}, as the blob of a `sections` frame has it, or
// [[kernel, offset, samples], ...]. What is neither is left out. *items is owned by the caller, its names by the JSON.
// Returns how many there are.
int kb_sass_samples_read(const cJSON *json, struct kb_sass_sample **items);

#endif
