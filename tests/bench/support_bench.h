// What the tests of this folder share.
#ifndef KB_TESTS_BENCH_SUPPORT_H
#define KB_TESTS_BENCH_SUPPORT_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/bench.h"

extern const char support_softmax[]; // a whole bench file; its first line is line 1

// Parses text as the file "b/bench.json" and ends the test if that fails.
struct kb_bench *support_parse(const char *text);
// The text with the first `from` replaced by `to`; ends the test if there is none. Owned by the caller.
char *support_replaced(const char *text, const char *from, const char *to);
// Ends the test unless haystack holds needle.
void support_contains(const char *haystack, const char *needle);

#endif
