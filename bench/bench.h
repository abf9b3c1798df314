// A bench: one operator, its arguments, cases, reference and variants. The in-memory form of bench.json
// (docs/bench.md).
#ifndef KB_BENCH_BENCH_H
#define KB_BENCH_BENCH_H
#include "base/error.h"
#include "base/hash.h"
#include "bench/dtype.h"
#include "bench/expr.h"
#include "bench/source.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

enum { KB_MAX_DIMS = 6 };

enum kb_role { KB_INPUT, KB_OUTPUT, KB_INOUT, KB_SCRATCH, KB_SCALAR, KB_ROLES };
const char *kb_role_name(enum kb_role r);
bool kb_arg_is_read(enum kb_role);    // input or inout
bool kb_arg_is_written(enum kb_role); // output or inout

// FILE: a .npy beside the bench. CANCELLATION: pairs of large values of opposite sign. NEG_INF_ROWS: normal, but some
// whole rows and some single elements of the innermost dimension are -inf.
enum kb_fill_kind {
    KB_FILL_NORMAL,
    KB_FILL_UNIFORM,
    KB_FILL_LOGNORMAL,
    KB_FILL_INTEGERS,
    KB_FILL_CONSTANT,
    KB_FILL_ZEROS,
    KB_FILL_CANCELLATION,
    KB_FILL_NEG_INF_ROWS,
    KB_FILL_DENORMALS,
    KB_FILL_FILE,
    KB_FILLS
};
struct kb_fill {
    enum kb_fill_kind kind;
    double low, high; // UNIFORM, INTEGERS (inclusive); default -1..1, -8..8
    double mean, std; // NORMAL, LOGNORMAL (of the logarithm), CANCELLATION (std = magnitude); default 0, 1
    double value;     // CONSTANT
    char *file;       // FILE: path relative to the bench
};
const char *kb_fill_name(enum kb_fill_kind k);

struct kb_arg {
    char *name;
    enum kb_role role;
    enum kb_dtype dtype;
    char *shape[KB_MAX_DIMS]; // expressions over the params; ndim 0 for scalars
    int ndim;
    struct kb_fill fill; // input, inout
    char *value;         // scalar: expression (real for floating types); NULL: the param of its name
};

struct kb_case {
    char *name;                     // "" if none was given
    struct kb_names over, cpu_over; // values that replace params; cpu_over on the CPU device, on top of over
    bool timed;
    bool has_cpu;
    struct kb_fill *fills; // per argument of the bench, NULL or an array of bench.arg_count; kind KB_FILLS = as the arg
};

struct kb_launch {
    char *kernel;             // a name, or a name expression: "k", "n::k", "k<float,4>"
    char *grid[3], *block[3]; // expressions
    int grid_dims, block_dims;
    char *shared; // dynamic bytes; NULL: none
    bool cooperative;
    char **args; // names in parameter order; NULL: all args of the bench
    int arg_count;
};

enum { KB_COMMAND_TIMEOUT_S = 60 }; // where none is given
enum kb_variant_kind { KB_VARIANT_CUDA, KB_VARIANT_LIBRARY, KB_VARIANT_COMMAND };
struct kb_define {
    char *name, *value;
};
struct kb_variant {
    char *name;
    enum kb_variant_kind kind;
    char *source;   // path relative to the bench
    char *compiler; // "auto", "nvrtc" or "nvcc"
    struct kb_define *defines;
    int define_count;
    char **options; // further compiler options
    int option_count;
    struct kb_launch *launches;
    int launch_count;
    char **command;                  // kind COMMAND: argv, NULL-terminated; NULL for other kinds
    int timeout_s;                   // kind COMMAND: for one case
    struct kb_names template_values; // integer template arguments by the parameters' names; set by kb_variant_resolve
};

enum kb_reference_kind { KB_REFERENCE_NONE, KB_REFERENCE_KERNEL, KB_REFERENCE_FILE, KB_REFERENCE_COMMAND };
struct kb_reference {
    enum kb_reference_kind kind;
    struct kb_variant program; // KERNEL: source and launches; name "reference"
    char *file;                // FILE: .npy of the only output
    char **command;            // COMMAND: argv, NULL-terminated
    int timeout_s;             // COMMAND: for one case
};

// Bounds that decide; NAN where none was given. AUTO: derived from type, length and scale (verify/tolerance.h).
enum kb_tolerance_kind { KB_TOLERANCE_AUTO, KB_TOLERANCE_EXACT, KB_TOLERANCE_BOUNDS };
struct kb_tolerance {
    enum kb_tolerance_kind kind;
    double max_abs, max_rel, rmse, max_ulp, scaled; // upper bounds
    double psnr_db, cosine;                         // lower bounds
};

enum kb_goal_kind { KB_GOAL_NONE, KB_GOAL_ROOF, KB_GOAL_VERSUS };
struct kb_goal {
    enum kb_goal_kind kind;
    double ratio; // share of the roof, or speed relative to `versus`
    char *versus; // a variant's name
};

struct kb_bench {
    char *name;
    char *dir, *path; // absolute; path is "" for a bench made from a bare .cu
    struct kb_names params;
    struct kb_arg *args;
    int arg_count;
    struct kb_case *cases; // at least one; without cases in the file: one, timed, with no overrides
    int case_count;
    struct kb_reference reference;
    struct kb_tolerance tolerance;
    char *flops, *bytes; // work, as real expressions; NULL if not declared
    struct kb_goal goal;
    char **include_dirs; // relative to the bench
    int include_dir_count;
    struct kb_variant *variants;
    int variant_count;
    cJSON *json; // the document as read, for sending it to a worker
    char *text;  // its text, for the lines of errors that are found later; NULL if it came by frame
    size_t text_size;
};

// Parses a bench file. Errors: "path:line" (the line of the offending key), what was expected, the nearest known key.
int kb_bench_parse(const char *text, size_t size, const char *path, struct kb_bench **out, struct kb_error *e);
int kb_bench_load(const char *path, struct kb_bench **out, struct kb_error *e); // a bench.json, or a folder with one
// The same from a document that travelled in a frame (dir and path stay as given in "dir" and "path" or "").
int kb_bench_from_json(const cJSON *document, struct kb_bench **out, struct kb_error *e);
void kb_bench_free(struct kb_bench *b);

// Which rule says how far from the reference is right (docs/verify.md): counts up whenever a verdict may come out
// differently by it.
enum { KB_TOLERANCE_VERSION = 3 };

// Everything that decides what is right and what is fast: args, cases, reference, tolerance and the version of its
// rule, work, goal, accepted findings; and parts from outside the file, in their order: what the reference and its
// compile opened. Variants and their launches are not part of it.
struct kb_contract_part {
    const char *name; // "reference.cu", "compiler"
    const void *data;
    size_t size;
};
struct kb_hash kb_bench_contract(const struct kb_bench *b, const struct kb_contract_part *parts, int count);

// Why a finding of the CPU device in a launch of this kernel ({kind, text, file, line}, jit/ptx/facts.h) fails nothing:
// the reason of the entry of `accept` that it fits; NULL: none does. Belongs to the bench.
const char *kb_bench_accepts(const struct kb_bench *b, const char *kernel, const cJSON *report);
// An entry of `accept` by its kernel, file and line, if it is about this variant and fits none of these findings (as
// above, each with its kernel): "race in k.cu:14"; owned by the caller. NULL: there is none.
char *kb_bench_accepts_nothing(const struct kb_bench *b, const struct kb_variant *v, const cJSON *findings);

int kb_bench_find_variant(const struct kb_bench *b, const char *name); // index or -1
int kb_bench_find_arg(const struct kb_bench *b, const char *name);     // index or -1
int kb_bench_headline(const struct kb_bench *b);                       // index of the first timed case, else 0

// A variant with the source's //kb: lines applied (the source wins over bench.json). An owned copy.
int kb_variant_resolve(const struct kb_bench *b, int variant, const struct kb_source *source, struct kb_variant **out,
                       struct kb_error *e);
// The same with macros of the command line on top ("NAME=VALUE", or "NAME" for 1), which win over both. They are in
// the result's defines, so that launches and template arguments know them; nobody has to pass them on again.
int kb_variant_resolve_with(const struct kb_bench *b, int variant, const struct kb_source *source, char *const *defines,
                            int define_count, struct kb_variant **out, struct kb_error *e);
cJSON *kb_variant_to_json(const struct kb_variant *v); // complete and explicit; what kb_variant_from_json reads
int kb_variant_from_json(const cJSON *document, struct kb_variant **out, struct kb_error *e);
void kb_variant_free(struct kb_variant *v);

// The names that expressions of a case know: params, the case's overrides (and the CPU's), then the integer defines
// and integer template arguments of the variant (NULL: none). names must be empty.
int kb_case_names(const struct kb_bench *b, int case_index, bool on_cpu, const struct kb_variant *v,
                  struct kb_names *names, struct kb_error *e);
int64_t kb_case_param(const struct kb_bench *b, int case_index, bool on_cpu, const char *param); // 0: has none
// "4096 x 4096" style label from the values that the case sets, or its name; owned by the caller.
char *kb_case_label(const struct kb_bench *b, int case_index, bool on_cpu);

struct kb_dims { // an evaluated launch
    int64_t grid[3], block[3], shared;
    bool cooperative;
};
int kb_launch_eval(const struct kb_launch *l, const struct kb_names *names, struct kb_dims *out, struct kb_error *e);
int kb_shape_eval(const struct kb_arg *a, const struct kb_names *names, int64_t shape[KB_MAX_DIMS], int64_t *elements,
                  struct kb_error *e);

// `kbench-tui new NAME [--op softmax | --like BENCH]`: writes a folder NAME with bench.json, reference.cu and naive.cu,
// complete and passing. An existing folder is an error; nothing is overwritten. like: a bench folder to copy, or NULL:
// of the operator op (bench/operators.h; NULL: elementwise).
int kb_bench_new(const char *dir, const char *like, const char *op, struct kb_error *e);

#endif
