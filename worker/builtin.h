// Sources that the worker carries itself, and a cache of their compiles.
#ifndef KB_WORKER_BUILTIN_H
#define KB_WORKER_BUILTIN_H
#include "jit/compile.h"

const char *kb_builtin_main(void);
// The embedded files of the source of this name; 0 with the error filled if there is none.
int kb_builtin_files(const char *name, const struct kb_compile_file **files, struct kb_error *e);
// Like kb_compile(), but from the cache where the same was compiled before (contents, options, NVRTC's version; the
// entry is verified by its hash before use). Not to be able to write the cache is no error.
int kb_builtin_compile(const struct kb_compile_request *r, struct kb_compiled *out, struct kb_error *e);

#endif
