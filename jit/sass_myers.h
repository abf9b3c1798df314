// The longest common subsequence of two sequences of keys: E. W. Myers, "An O(ND) Difference Algorithm and Its
// Variations" (1986), in linear space, with a bound on the search as in common diff tools: where two parts have little
// in common the result may be longer than needed, the time never.
#ifndef KB_JIT_SASS_MYERS_H
#define KB_JIT_SASS_MYERS_H
#include <stdint.h>

// match[i] becomes the index in b that a[i] is paired with, -1 for none; the pairs are in order. O((na + nb) * 512).
void kb_sass_match(const uint64_t *a, int na, const uint64_t *b, int nb, int *match);

#endif
