// Two normalised kernels side by side: which instruction became which, and whether the pairs really do the same.
#ifndef KB_JIT_SASS_COMPARE_H
#define KB_JIT_SASS_COMPARE_H
#include "jit/sass_normal.h"

// match[i]: the instruction of b that instruction i of a is paired with, -1 for none; in order. Blocks that are alike
// are paired first, what lies between them by similarity, and their instructions by shape.
void kb_sass_align(const struct kb_sass_normal *a, const struct kb_sass_normal *b, int *match);

// differs[i] for each paired instruction of a: true if registers, constants or branch targets of the pair are not
// merely renamed: somewhere on a way through the code a register of a holds what another one than its partner holds in
// b. Around unpaired instructions nothing is known, and nothing claimed.
void kb_sass_compare(const struct kb_sass_normal *a, const struct kb_sass_normal *b, const int *match, bool *differs);

#endif
