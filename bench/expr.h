// Integer expressions of bench files and //kb: lines: decimal and 0x integers, names, + - * / % ( ), unary -,
// ceil_div(a,b), min(a,b), max(a,b). 64-bit; overflow and division by zero are errors. Division truncates.
#ifndef KB_BENCH_EXPR_H
#define KB_BENCH_EXPR_H
#include "base/error.h"

#include <stdint.h>

struct kb_name { // one known name
    char *name;
    int64_t value;
};
struct kb_names { // later entries win
    struct kb_name *items;
    int count, capacity;
};
void kb_names_set(struct kb_names *names, const char *name, int64_t value); // replaces or adds
const int64_t *kb_names_get(const struct kb_names *names, const char *name);
void kb_names_copy(struct kb_names *to, const struct kb_names *from); // adds all of from
void kb_names_free(struct kb_names *names);

// The error quotes the expression, points at the column and, for an unknown name, gives the nearest known one.
int kb_expr_eval(const char *text, const struct kb_names *names, int64_t *value, struct kb_error *e);
// Syntax only (names may be anything).
int kb_expr_check(const char *text, struct kb_error *e);
// The same grammar in double precision, for work.flops and work.bytes (values beyond 2^63 are usual there).
int kb_expr_eval_real(const char *text, const struct kb_names *names, double *value, struct kb_error *e);

#endif
