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
// expanded: nvcc has replaced __global__ and the like by longer words in the lines that it shows.
void kb_verdict_messages(struct kb_build *b, const char *log, bool expanded);
void kb_verdict_add(struct kb_compiled *out, const char *file, int line, const char *text); // one more error
void kb_verdict_failed(struct kb_build *b, const char *otherwise);

// kernels.c: the kernels of out->cubin, with what the log says of them. lowered: one a requested kernel, or NULL.
void kb_kernels_fill(struct kb_build *b, char *const *lowered);

// host.c: sources with host code made fit for NVRTC. Lines and columns stay as they are.
struct kb_host_text {
    char *text;  // owned
    int blanked; // functions taken out
};
// Host functions (neither __global__ nor __device__ nor constexpr) outside of classes become blanks.
void kb_host_blank(const char *text, size_t size, struct kb_host_text *out);
// Further items without device code that contain one of these lines become blanks too; returns how many.
int kb_host_blank_lines(char *text, const int *lines, int count);

// host_stubs.c: stand-ins for host headers in the tree's folder KB_HOST_STUBS, empty where nothing of them is needed.
#define KB_HOST_STUBS ".kbench-host"
// Headers that the request includes as <x> and that neither it nor the toolkit has; owned texts. A missing "x" is the
// user's own and stays an error.
void kb_host_missing(const struct kb_build *b, struct kb_words *out);
int kb_host_stubs(const struct kb_build *b, const struct kb_words *missing, struct kb_error *e);
// true for names that every nvcc source has without an include, and NVRTC has not ("uint", "NAN").
bool kb_host_prelude_has(const char *identifier);

// host_compile.c: whether a failed plain compile was likely due to host code; the compile without it; and whether its
// errors say more than those of the plain one.
bool kb_host_worth_it(const struct kb_build *b);
int kb_host_compile(struct kb_build *b, struct kb_error *e);
bool kb_host_better(const struct kb_compiled *plain, const struct kb_compiled *later);

// includes.c: watches which files of the tree are opened from now on; _take puts them into b->out and ends it.
struct kb_includes;
struct kb_includes *kb_includes_watch(const struct kb_build *b);
void kb_includes_take(struct kb_includes *w, struct kb_build *b);

// traced.c: where the request wants kb_section.cuh, out is the request with that file in a folder of its own.
#define KB_SECTION_FOLDER ".kbench-section"
bool kb_section_header_add(const struct kb_compile_request *r, struct kb_compile_request *out);
void kb_section_header_free(struct kb_compile_request *);

// compile.c: this text as the main file through NVRTC into b->out.
int kb_build_nvrtc(struct kb_build *b, const char *source, const struct kb_words *options, struct kb_error *e);

// File that requested names are said to stand in, one a line, where nvcc is asked for instances of templates.
#define KB_NAME_LINES "kernel names"
// ptx_source.c: the main file is PTX. 0 if ptxas gave a verdict, -1 if it could not be asked.
int kb_ptx_compile(struct kb_build *b, struct kb_error *e);
// nvcc.c. 0 if nvcc gave a verdict, -1 if it could not be asked.
int kb_nvcc_compile(struct kb_build *b, struct kb_error *e);

#endif
