// What a traced compile makes of a source: its `//kb: section` lines in kernels become calls of bench/kb_section.cuh.
#ifndef KB_BENCH_INSTRUMENT_H
#define KB_BENCH_INSTRUMENT_H
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct kb_trace_name { // a section, by its marker or by KB_SECTION("name") in any function
    char *name, *file;
    int line; // of the first that is called so
    unsigned id;
};
struct kb_trace_names {
    struct kb_trace_name *items;
    int count, capacity;
    int functions; // with markers, that are no kernels
};
struct kb_instrumented {
    char *text; // as many lines as before, each statement on its own line; a NUL behind it
    size_t size;
    int kernels; // whose begin and end are recorded
};
// path: for names and messages. Adds the file's sections to names. Fails, with "path:line" and what to do, where a
// marker stands in the middle of a statement, between a #pragma and its loop, or before a label of its block, and where
// two names mean the same section. Markers outside of
// kernels and __device__ functions stay comments.
int kb_instrument(const char *text, size_t size, const char *path, struct kb_instrumented *, struct kb_trace_names *,
                  struct kb_error *);
void kb_trace_names_free(struct kb_trace_names *);

// The header's text, for compilers: bench/kb_section.cuh under the name KB_SECTION_HEADER.
#define KB_SECTION_HEADER "kb_section.cuh"
extern const char kb_embedded_kb_section_cuh[];
extern const unsigned kb_embedded_kb_section_cuh_size;

#endif
