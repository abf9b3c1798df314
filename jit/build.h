// Inside of kb_compile(): one request on its way through the compilers.
#ifndef KB_JIT_BUILD_H
#define KB_JIT_BUILD_H
#include "jit/compile.h"
#include "jit/log.h"
#include "jit/nvrtc.h"
#include "jit/scan.h"
#include "jit/tree.h"

struct kb_words { // owned texts
    char **list;
    int count;
};
void kb_words_add(struct kb_words *w, char *owned);
void kb_words_free(struct kb_words *w);

struct kb_build {
    const struct kb_compile_request *request;
    struct kb_compiled *out;
    struct kb_scan scan;
    struct kb_tree tree;
    char arch[16];
};

// options.c. 0, or -1 for an option that a measured build must not have.
int kb_options_check(const struct kb_compile_request *r, struct kb_error *e);
void kb_options_nvrtc(const struct kb_build *b, struct kb_words *out);
void kb_options_nvcc(const struct kb_build *b, struct kb_words *out);
// "" if this NVRTC can build arch, else why not, with what it can build. Owned by the caller.
char *kb_arch_objection(const char *arch);

// verdict.c: what a compiler said becomes out->ok, reason, messages.
void kb_verdict_note(struct kb_compiled *out, char *note); // takes note
void kb_verdict_nvrtc(struct kb_build *b, const struct kb_nvrtc_result *r);
// Messages of a log into out (replacing those there); names of the request stay, the temporary folder goes.
void kb_verdict_messages(struct kb_build *b, const char *log);
void kb_verdict_failed(struct kb_build *b, const char *otherwise);

// kernels.c: the kernels of out->cubin, with what the log says of them. lowered: one a requested kernel, or NULL.
void kb_kernels_fill(struct kb_build *b, char *const *lowered);

// host.c: a source with host code made fit for NVRTC. NULL if there is nothing to change. Owned by the caller.
char *kb_host_blanked(struct kb_build *b, const char *source, size_t size);
// Writes stand-ins for host headers into the tree. Their folder's name inside the tree is KB_HOST_STUBS.
#define KB_HOST_STUBS ".kbench-host"
int kb_host_stubs(struct kb_build *b, struct kb_error *e);

// nvcc.c. 0 if nvcc gave a verdict, -1 if it could not be asked.
int kb_nvcc_compile(struct kb_build *b, struct kb_error *e);

#endif
