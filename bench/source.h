// What plain text analysis says about a CUDA source: its kernels with their parameters and template parameters, and
// its //kb: lines. Comments, strings and raw strings are respected; the preprocessor is not run.
#ifndef KB_BENCH_SOURCE_H
#define KB_BENCH_SOURCE_H
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct kb_source_param {
    char *type; // as written, blanks collapsed: "const float *__restrict__"
    char *name; // "" if unnamed
};
struct kb_source_kernel {
    char *name;   // as written, without namespace
    char *scope;  // enclosing namespaces "a::b", or ""
    int line;     // 1-based line of the name
    int end_line; // line of the closing brace of its body; 0 for a declaration
    bool is_template, is_static;
    char **template_params;  // names of the template parameters in order ("" if unnamed)
    char **template_kinds;   // what stands before each name: "typename", "int", "class...", "template <class> class"
    bool *template_defaults; // whether each has a default
    int template_param_count;
    struct kb_source_param *params;
    int param_count;
    size_t body_open, body_close; // offsets of its braces; both 0 for a declaration
};
struct kb_source_instance { // `template __global__ void k<float, 4>(...)`, or a specialisation
    char *kernel;           // its name, without namespace
    char *args;             // "float,4"
};
enum kb_directive_kind { KB_DIRECTIVE_SET, KB_DIRECTIVE_SECTION };
struct kb_directive { // one key=value of a `//kb:` line, or one `//kb: section NAME`
    enum kb_directive_kind kind;
    int line;
    size_t at;    // of its "//" in the text
    int end_line; // SECTION: its last line: before the next section of its block, or the block's end; else 0
    char *kernel; // the kernel it applies to: the next `__global__` (SET), or the one around it (SECTION); NULL if none
    char *variant; // of for=VARIANT, else NULL
    char *key;     // "block", "grid", "shared", "cooperative", "define:NAME"; the section's name for SECTION
    char *value;   // text behind '='; NULL for SECTION
};
struct kb_source_body { // of a kernel's definition, specialisations too: offsets of its braces
    size_t open, close;
};
struct kb_source {
    struct kb_source_kernel *kernels;
    int kernel_count;
    struct kb_source_body *bodies;
    int body_count;
    struct kb_source_instance *instances;
    int instance_count;
    struct kb_directive *directives;
    int directive_count;
};
// path is for messages only. A malformed //kb: line (unknown key with the nearest known one, value missing, blanks in
// values, no kernel behind it) is an error "path:line". A file with no kernel is no error here.
int kb_source_scan(const char *text, size_t size, const char *path, struct kb_source *out, struct kb_error *e);
void kb_source_free(struct kb_source *s);
// Whether a file is a source by its name, not a bench or a folder of one.
bool kb_source_path(const char *path);

// Comments, string and character literals replaced by blanks; newlines and length kept. Owned by the caller.
char *kb_source_blank(const char *text, size_t size);

#endif
