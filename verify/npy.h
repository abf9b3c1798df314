// Arrays in NumPy's .npy format, versions 1 to 3 (numpy.lib.format): C order, little endian, of f8 f4 f2 i8 i4 i1 u1.
#ifndef KB_VERIFY_NPY_H
#define KB_VERIFY_NPY_H
#include "bench/bench.h"

#include <stddef.h>
#include <stdint.h>

struct kb_npy {
    enum kb_dtype dtype;
    int ndim; // 0 for a scalar: one element
    int64_t shape[KB_MAX_DIMS];
    int64_t elements;
    const void *data; // inside the bytes given; may be unaligned
};
// Checks everything against size. The error says what was found and what is accepted.
int kb_npy_parse(const void *bytes, size_t size, const char *name, struct kb_npy *, struct kb_error *);
// All elements as `to` (rounded to nearest, integers limited to the range) or, for to = KB_F64, as doubles. out holds
// elements * kb_dtype_bytes(to). 64-bit integers are only given as such: -1 for another type that would lose digits.
int kb_npy_convert(const struct kb_npy *, enum kb_dtype to, void *out, const char *name, struct kb_error *);
// The header of a file with such an array, version 1.0; owned. dtype: one that NumPy has (kb_npy_type). ndim 0: a
// scalar.
char *kb_npy_header(enum kb_dtype, int ndim, const int64_t *shape, size_t *size);
enum kb_dtype
    kb_npy_type(enum kb_dtype); // itself; F32 for those that NumPy does not have, which holds all their values
// Shape and number of elements as wanted by an argument?
int kb_npy_fits(const struct kb_npy *, int ndim, const int64_t *shape, const char *name, struct kb_error *);

#endif
