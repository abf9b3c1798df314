// What a kernel does through each of its parameters, from its PTX: a small dataflow without order, so it says what may
// happen. For benches that are guessed (bench/guess.h).
#ifndef KB_JIT_POINTERS_H
#define KB_JIT_POINTERS_H
#include "bench/guess.h"

struct kb_pointers;                                                 // PTX that was read once for all of its kernels
struct kb_pointers *kb_pointers_read(const char *ptx, size_t size); // NULL: it cannot be read
void kb_pointers_free(struct kb_pointers *);
// Of the kernel with this lowered name, for at most `most` parameters; returns how many it has, 0 where it is unknown.
// Only 64-bit parameters are followed, the first 64; bytes of each is set.
int kb_pointers_of(const struct kb_pointers *, const char *lowered, struct kb_param_use *out, int most);

#endif
