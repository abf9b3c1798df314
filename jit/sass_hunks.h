// Rows of a diff gathered into hunks, for sass_diff.c and sass_text.c.
#ifndef KB_JIT_SASS_HUNKS_H
#define KB_JIT_SASS_HUNKS_H
#include "jit/sass_diff.h"

struct kb_row { // one or both of an index into a and b, -1 for none
    int a, b;
    char kind; // '=', '~' paired but different, '-', '+'
};
struct kb_hunk {
    int first, count; // rows
    int unit;         // which part of the document: a pair of kernels
    double samples;
};
struct kb_hunks {
    struct kb_hunk *items;
    int count, capacity;
};

// Rows in order from a pairing: match[i] = index in b or -1. different[i] of a pair gives '~'. Owned by the caller.
struct kb_row *kb_diff_rows(const int *match, int na, int nb, const bool *different, int *count);
// Appends the hunks of these rows. Changes less than 2 * context apart share one.
void kb_diff_hunks(struct kb_hunks *, const struct kb_row *rows, int count, int context, int unit);
// The one with most samples first; the others in order of the code.
void kb_diff_sort(struct kb_hunks *);

#endif
