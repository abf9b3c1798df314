// Internal to bench/: a guess while it is made.
#ifndef KB_BENCH_GUESS_PARTS_H
#define KB_BENCH_GUESS_PARTS_H
#include "bench/guess_code.h"

enum { KB_GUESS_SIZES = 8, KB_GUESS_LONE = 4096 };

struct kb_guessed_arg {
    char *name;
    enum kb_role role;
    enum kb_dtype dtype;
    int lanes;     // elements of dtype in one object of the pointer's type
    bool open;     // nothing tells its type: bytes
    bool is_size;  // an integer that extents and grids are made from
    bool is_param; // a scalar that is a param of the bench
    int64_t value; // of the param
    char *text;    // a scalar's value as an expression, an array's elements; NULL: by the rule
    bool counted;  // only atomics go there: it starts from zeros
};
struct kb_guess_scan { // a text with kernels
    struct kb_source source;
    const struct kb_code_text *text;
    const char *path;
};
struct kb_guess_candidate {
    const struct kb_guess_scan *in;
    const struct kb_source_kernel *kernel;
};
struct kb_guessing {
    const struct kb_guess_source *source;
    struct kb_code code;
    struct kb_guess_scan *scans; // the file; its headers too, where it has no kernel of its own
    int scan_count;
    struct kb_guess_candidate *candidates; // kernels with a body
    int candidate_count;
    const struct kb_guess_scan *in;
    const struct kb_source_kernel *kernel;
    const char *wanted_args; // of the template, as they were asked for: "float, 4>"; NULL
    struct kb_guessed_arg *args;
    char **template_args;
    int template_arg_count;
    bool instance;                // some of those are guesses
    struct kb_code_launch launch; // of the file
    bool launched;
    struct kb_code_scope scope;
    struct kb_names params;
    const char *sizes[KB_GUESS_SIZES];
    int size_count;
    bool planar; // it asks for threadIdx.y or blockIdx.y
    char *grid[3], *block[3], *shared;
    int grid_dims, block_dims;
    bool cooperative;
};

// bench_infer.c: a document as people write it; owned
char *kb_guess_pretty(const cJSON *document);
// guess_args.c
bool kb_guess_types_known(struct kb_guessing *, bool pointers_too); // of the kernel's parameters
void kb_guess_args(struct kb_guessing *);
// guess_template.c: the arguments of an instance: those asked for, else from an explicit one, a launch, or by the
// parameters' names.
void kb_guess_template(struct kb_guessing *);
void kb_guess_template_drop(struct kb_guessing *);
// Of an instance with the arguments that stand there, if all of them mean something outside their function.
bool kb_guess_template_written(struct kb_guessing *, struct kb_code_range args);
char *kb_guess_expression(const struct kb_guessing *); // "n::k<float,4>"; owned
// guess_choice.c: reads the texts and finds the kernel, its template arguments and its launch.
int kb_guess_start(struct kb_guessing *, struct kb_error *e);
int kb_guess_choose(struct kb_guessing *, struct kb_error *e);
void kb_guess_end(struct kb_guessing *);
// guess_set_up.c: grid, block, dynamic shared memory
bool kb_guess_is_ptx(const struct kb_guessing *);
bool kb_guess_body_says(const struct kb_guessing *, const char *words); // "threadIdx.y", blanks and comments aside
void kb_guess_set_up(struct kb_guessing *);

#endif
