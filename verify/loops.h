// The kernels of element.cu as C loops, with the same cutting and the same order of sums.
#ifndef KB_VERIFY_LOOPS_H
#define KB_VERIFY_LOOPS_H
#include "verify/element_compare.h"
#include "verify/element_fill.h"

#include <stdint.h>

void kb_loop_fill(void *to, uint64_t n, const struct kbe_fill *);
void kb_loop_poison(void *to, uint64_t n, int size, uint64_t code);
void kb_loop_mask(void *p, uint64_t bytes, uint64_t key, uint64_t second);
void kb_loop_disturb(const struct kbe_disturb *); // addresses of the host's memory
void kb_loop_widen(const void *from, double *to, uint64_t n, int dtype);
uint64_t kb_loop_hash(const void *p, uint64_t bytes);
void kb_loop_guard_fill(unsigned char *to, uint64_t bytes, uint64_t key);
// pair: {changed bytes, offset of the first}
void kb_loop_guard_check(const unsigned char *p, uint64_t bytes, uint64_t key, uint64_t pair[2]);
// pairs: {unwritten, first, differing, first}
void kb_loop_inspect(const void *a, const void *b, uint64_t n, int size, const uint64_t poison[2], uint64_t pairs[4]);
void kb_loop_group_scale(const double *ref, uint64_t n, uint64_t group, double *scale);
void kb_loop_probe(const void *from, void *to, uint64_t n, const struct kbe_probe *);
void kb_loop_moved(const void *now, const void *before, double *moved, uint64_t n, int dtype, double factor);
void kb_loop_level(double *moved, uint64_t n, uint64_t group, const double *levels);
void kb_loop_compare(const void *out, const struct kbe_wanted *, uint64_t n, const struct kbe_rule *,
                     struct kbe_part *total);
void kb_loop_map(const void *out, const struct kbe_wanted *, uint64_t n, const struct kbe_rule *,
                 const struct kbe_map *, uint64_t *cells);
// wrong: a byte an element, set where it is wrong.
void kb_loop_mark(const void *out, const struct kbe_wanted *, uint64_t n, const struct kbe_rule *,
                  unsigned char *wrong);

#endif
