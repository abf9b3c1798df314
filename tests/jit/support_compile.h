// Requests to kb_compile() from a few lines of source, for the tests of this folder.
#ifndef KB_TESTS_JIT_SUPPORT_COMPILE_H
#define KB_TESTS_JIT_SUPPORT_COMPILE_H
#include "jit/compile.h"

struct trial {
    struct kb_compile_file files[8];
    const char *kernels[8], *options[8], *include_dirs[4], *defines[4];
    struct kb_compile_request request;
    struct kb_compiled result;
    struct kb_error error;
    int status;
};
// The first file is the main one.
void trial_file(struct trial *t, const char *name, const char *text);
void trial_kernel(struct trial *t, const char *name);
void trial_option(struct trial *t, const char *option);
void trial_include_dir(struct trial *t, const char *dir);
void trial_define(struct trial *t, const char *define);
void trial_run(struct trial *t); // for sm_90 unless request.arch is set
void trial_free(struct trial *t);
bool trial_has_error(const struct trial *t, const char *file, int line, const char *text);
void skip_without_nvrtc(void);

#endif
