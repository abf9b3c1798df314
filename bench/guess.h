// A bench for a .cu that no bench lists: guessed from its first kernel, from what the file and its headers say about
// types, constants, launches and allocations, and from what the compiled kernel does through each pointer.
// Everything in it may be wrong, so nothing that follows from it is a verdict.
#ifndef KB_BENCH_GUESS_H
#define KB_BENCH_GUESS_H
#include "bench/bench.h"

struct kb_param_use { // of a kernel's parameter, in the compiled code
    int bytes;        // 0: unknown
    bool known;       // it is an address that was followed to every access; else the rest says nothing
    bool loads, stores, atomics;
    int width;    // bytes of its widest access
    char type[8]; // of most accesses: "f32", "bf16", or bits of unknown meaning: "b16"; ""
};
struct kb_guess_text {
    const char *path;
    const char *text;
    size_t size;
};
struct kb_guess_extent { // of an array, as a run showed it
    char *arg;
    int64_t elements;
};
struct kb_guess_source {
    const char *path; // of the .cu
    const char *text;
    size_t size;
    const struct kb_guess_text *headers; // that it reaches
    int header_count;
    // Of a compile of the kernel that was guessed before, by its name with scope and without template arguments; NULL.
    const char *kernel;
    const struct kb_param_use *uses;
    int use_count;
    const struct kb_guess_extent *extents;
    int extent_count;
    int max_threads; // a block of it may have; 0: unknown
    // How it is compiled elsewhere: folders (absolute), "NAME=VALUE", compiler options.
    const char *const *include_dirs, *const *defines, *const *options;
    int include_dir_count, define_count, option_count;
    const char *wanted; // "k", "ns::k" or an instance "k<float, 4>"; NULL: the one that is understood best
};
struct kb_guess {
    char *kernel;   // with its scope, without template arguments
    char *headline; // "launch 256x1x1, n = 4096"
    char *skeleton; // the bench.json to offer; types that nothing tells are "?" there
    bool instance;  // template arguments were guessed
};

// Pointers: input where the kernel only loads (or they are to const), output where it only stores, inout else; integers
// are params with small values. No reference. Fails where there is no kernel, or a //kb: line is wrong.
int kb_bench_guess(const struct kb_guess_source *, struct kb_bench **out, struct kb_guess *guess, struct kb_error *e);
void kb_guess_free(struct kb_guess *);

struct kb_guess_kept { // absolute paths, owned
    char *bench, *reference;
};
// Writes the guessed bench beside its source: bench.json (STEM.bench.json where there is one), its schema for editors
// in .kbench/, and STEM_reference.cu, which stops its own compile until somebody writes what is right. Files that are
// there are never overwritten: then it fails.
int kb_guess_keep(const struct kb_bench *, const char *source_path, struct kb_guess_kept *out, struct kb_error *e);
void kb_guess_kept_free(struct kb_guess_kept *);

struct kb_guess_choice {
    char *kernel; // as `wanted` takes it
    char *params; // "const float *x, float *y, int n"
    char *file;   // where it stands: the source, or the header of a source that has no kernel itself
    int line;
    bool guessed; // template arguments that nothing in the files says
};
struct kb_guess_choices {
    struct kb_guess_choice *list;
    int count;
    int kernels; // apart from their instances
};
// The kernels of the file and the instances of templates that it names, in their order. Fails as kb_bench_guess does.
int kb_bench_guess_choices(const struct kb_guess_source *, struct kb_guess_choices *out, struct kb_error *e);
void kb_guess_choices_free(struct kb_guess_choices *);

#endif
