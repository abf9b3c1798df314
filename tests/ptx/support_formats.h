// Narrow binary formats, from their definition: to compare with what the device computes by shifts and masks.
#ifndef KB_TESTS_SUPPORT_FORMATS_H
#define KB_TESTS_SUPPORT_FORMATS_H
#include <stdbool.h>

// The value of a pattern with e exponent and m fraction bits. Without infinities (e4m3) all ones is the only NaN.
double format_value(unsigned bits, int e, int m, bool infinities);
// The nearest pattern, by search; ties to the even one. satfinite: beyond the range the largest finite one.
unsigned nearest_bits(__float128 v, int e, int m, bool infinities, bool satfinite);

#endif
