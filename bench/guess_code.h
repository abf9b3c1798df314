// Internal to bench/: what a source and its headers say beside its kernels: types by other names, constants, launches
// and allocations of its host code. Tokens only; names that mean several things mean what stands nearest before.
#ifndef KB_BENCH_GUESS_CODE_H
#define KB_BENCH_GUESS_CODE_H
#include "bench/guess.h"
#include "bench/source_lex.h"

struct kb_code_text {
    const char *from; // the text that was read
    struct kb_blanked blanked;
    struct kb_tokens tokens;
};
struct kb_code_range { // tokens [from, to) of a text
    const struct kb_code_text *in;
    int from, to;
};
struct kb_definition {
    char *name;
    bool is_dims; // of a dim3: the range holds its numbers
    struct kb_code_range range;
};
struct kb_code {
    struct kb_code_text **texts; // the headers, then the file (main), then a text for each macro
    int text_count, text_capacity, main;
    struct kb_definition *types, *values; // typedef, using, enum; constants and variables; macros are among both
    int type_count, type_capacity, value_count, value_capacity;
};
void kb_code_read(const struct kb_guess_source *, struct kb_code *out);
void kb_code_free(struct kb_code *);
char *kb_code_join(struct kb_code_range); // as text, a blank between two words; owned
bool kb_code_is(const struct kb_code_text *, int token, const char *want);
int kb_code_close(const struct kb_code_text *, int open, int to); // the bracket that ends it, or `to`
// Parts between commas outside brackets; returns how many there are and stores at most `most`.
int kb_code_split(struct kb_code_range, struct kb_code_range *parts, int most);
// NULL if there is none. The nearest one before `at`, else the last.
const struct kb_definition *kb_code_type(const struct kb_code *, const char *name);
const struct kb_definition *kb_code_value(const struct kb_code *, const char *name, struct kb_code_range at);

// Names that stand for something in the expressions of the bench: what a launch passes, and the kernel's own names.
struct kb_code_name {
    char *name;
    const char *means;
};
struct kb_code_scope {
    const struct kb_code *code;
    struct kb_code_name *names;
    int count;
    int depth; // 0; inside: how often a name was followed already
};
const char *kb_code_meaning(const struct kb_code_scope *, const char *name); // NULL: it is none of them
// In the language of bench files ("ceil_div(n,256)"); NULL where it needs what is not known here. Owned.
char *kb_code_expression(const struct kb_code_scope *, struct kb_code_range);
// Up to three numbers of a dim3 or one of an integer; returns how many, 0 where one is not known. Owned texts.
int kb_code_dims(const struct kb_code_scope *, struct kb_code_range, char *out[3]);

struct kb_code_launch { // k<args><<<config>>>(call)
    char *kernel;
    struct kb_code_range args, config[4], call[64]; // args: empty where it has none
    int config_count, call_count;
};
// The launch of the kernel with this number, those of the file before those of headers; false: there are not so many.
bool kb_code_launch(const struct kb_code *, const char *kernel, int number, struct kb_code_launch *out);
// The bytes of the allocation that goes by this name (cudaMalloc and its kin) in the text of `at`, the last one before
// it if there is one; false: none is seen.
bool kb_code_allocation(const char *name, struct kb_code_range at, struct kb_code_range *bytes);

// Element types. pointers counts '*', is_const: of the element. Returns the type's name without qualifiers; owned.
char *kb_bare_type(const char *type, int *pointers, bool *is_const);
struct kb_element { // lanes of dtype in one object; struct and unknown types: bytes unknown, lanes 0
    enum kb_dtype dtype;
    int lanes;
    bool is_bool;
};
// Through typedefs and macros; pointers adds those that the name hides. False: nothing is known of it.
bool kb_element_of(const struct kb_code *, const char *bare, struct kb_element *out, int *pointers, bool *is_const);
// The same of a type as it is written: kb_bare_type, then kb_element_of.
bool kb_element_of_type(const struct kb_code *, const char *type, struct kb_element *out, int *pointers,
                        bool *is_const);

#endif
