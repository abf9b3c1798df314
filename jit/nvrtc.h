// One program through NVRTC, opened at run time. Knows nothing of files on disk beyond the include paths in options.
#ifndef KB_JIT_NVRTC_H
#define KB_JIT_NVRTC_H
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct kb_nvrtc_job {
    const char *source; // NUL-terminated
    const char *name;   // the program's name; quoted includes are searched for in its folder
    const char *const *options;
    int option_count;
    const char *const *names; // name expressions
    int name_count;
};
struct kb_nvrtc_result {
    bool ok, invalid_option;
    char status[64]; // NVRTC's own word for it
    char *log;       // never NULL
    char *ptx, *cubin;
    size_t ptx_size, cubin_size; // ptx_size without its NUL; 0 if there is none
    char **lowered;              // one a name expression; all NULL unless ok
    int lowered_count;
};
// 0 when NVRTC gave a verdict; -1 if there is no usable NVRTC. Without NVRTC's own cache, which costs the first compile
// of a process 200 ms where a driver is; and without the parts of the language that few kernels use (-minimal), unless
// the source needs them. The code is the same.
int kb_nvrtc_compile(const struct kb_nvrtc_job *job, struct kb_nvrtc_result *out, struct kb_error *e);
void kb_nvrtc_result_free(struct kb_nvrtc_result *r);

// "13.0", its path, and the architectures it can build (90 for sm_90), oldest first. NULL, "" and 0 without NVRTC.
const char *kb_nvrtc_version(void);
const char *kb_nvrtc_path(void);
int kb_nvrtc_archs(const int **archs);

#endif
