// The scan rung: is this text a CUDA source at all, and which kernels does it have? Looks at bytes only.
#ifndef KB_JIT_SCAN_H
#define KB_JIT_SCAN_H
#include "jit/compile.h"

struct kb_scan_kernel {
    char *name; // with its namespaces: "a::k"
    char *file; // of the request
    int line;
    bool is_template;
};
struct kb_scan {
    bool ok;
    char reason[512];               // if not ok: "no __global__ function in naive.cu (0 bytes)"
    struct kb_scan_kernel *kernels; // the main file's first, then those of the request's other files
    int kernel_count;
    char **notes;
    int note_count;
};
void kb_scan_request(const struct kb_compile_request *r, struct kb_scan *out);
void kb_scan_free(struct kb_scan *s);

// The request's file of this name, or NULL.
const struct kb_compile_file *kb_scan_file(const struct kb_compile_request *r, const char *name);
// Bytes of a UTF-8 byte order mark at the start: 3 or 0.
size_t kb_scan_mark(const char *data, size_t size);
// The kernel that a requested name or name expression means ("n::k<float>" finds "n::k"), or NULL.
const struct kb_scan_kernel *kb_scan_find(const struct kb_scan *s, const char *name);
// "add, n::k, k<...>"; "none". Owned by the caller.
char *kb_scan_list(const struct kb_scan *s);

// What a lowered (Itanium-mangled) name was in the source, without parameters: "n::k", "k<...>". Owned by the caller.
char *kb_name_readable(const char *lowered);
// How well a lowered name fits a requested one ("n::k<float, 3>"): 2 exactly, 1 as far as this can tell (template
// arguments of types that it cannot mangle), 0 not.
int kb_name_fits(const char *lowered, const char *requested);

#endif
