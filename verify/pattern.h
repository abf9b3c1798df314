// Which elements of an output are wrong, in one short phrase: "columns >= 1020, the last cols % 4 of a row", "every
// second row", "rows 32 to 63", "the upper right of the diagonal", "only in the last row", "one element, [3, 7]".
#ifndef KB_VERIFY_PATTERN_H
#define KB_VERIFY_PATTERN_H
#include <stddef.h>
#include <stdint.h>

enum { KB_PATTERN_ROOM = 96 };

// wrong: a byte an element of the shape, 0: right. Rows and columns are the last two dimensions; "matrix N" counts
// those before them. out: empty where nothing is wrong, where there is one element at all, and where no order is seen.
// "only in": some elements there are right. No phrase is cut: one that has no room is left out.
void kb_pattern_words(const unsigned char *wrong, int ndim, const int64_t *shape, char out[KB_PATTERN_ROOM]);

#endif
