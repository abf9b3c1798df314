// Stored listings, and changes to them, for the tests of SASS.
#ifndef KB_TESTS_JIT_SUPPORT_SASS_H
#define KB_TESTS_JIT_SUPPORT_SASS_H
#include "jit/sass_diff.h"

char *sass_text(const char *name, size_t *size); // of tests/data/sass/NAME.txt; owned by the caller
struct kb_sass_listing *sass_read(const char *text);
struct kb_sass_listing *sass_stored(const char *name);
// Every `from` that is no part of a longer word becomes `to`; owned by the caller.
char *sass_replaced(const char *text, const char *from, const char *to);
cJSON *sass_compare(const char *a, const char *b, bool raw);                       // documents of two texts
const cJSON *sass_unit(const cJSON *document, const char *name);                   // an entry of its kernels
int sass_rows(const cJSON *document, const char *kinds);                           // shown rows of these kinds
bool sass_has_row(const cJSON *document, char kind, const char *a, const char *b); // texts it begins with

#endif
