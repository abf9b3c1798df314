// What changed between two listings, or two texts: hunks of rows, for screens and programs alike. Pure.
#ifndef KB_JIT_SASS_DIFF_H
#define KB_JIT_SASS_DIFF_H
#include "jit/sass_parse.h"

#include <cjson/cJSON.h>

struct kb_sass_sample {
    const char *kernel;
    uint32_t offset; // in the kernel's section
    double samples;
};
struct kb_sass_samples {
    const struct kb_sass_sample *items;
    int count;
};
struct kb_sass_diff_options {
    bool raw;                    // show each instruction that is written differently, not only real changes
    int context;                 // unchanged rows around a change; 3 is usual
    int rows_most;               // rows of the document; what is left out is counted. 0: 8000
    struct kb_sass_samples a, b; // where there are any: hot hunks come first
};

// The document of docs/protocol.md, "diff". Owned by the caller.
cJSON *kb_sass_diff(const struct kb_sass_listing *a, const struct kb_sass_listing *b,
                    const struct kb_sass_diff_options *);
// The same for any text, by lines: PTX, sources.
cJSON *kb_text_diff(const char *a, size_t a_size, const char *b, size_t b_size, const struct kb_sass_diff_options *);
// {identical, real_change, hunks, by_class{}} of a document: what a verdict line needs. Owned by the caller.
cJSON *kb_diff_head(const cJSON *document);

#endif
