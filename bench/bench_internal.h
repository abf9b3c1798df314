// Internal to bench/: the parts of the bench file's reader.
#ifndef KB_BENCH_INTERNAL_H
#define KB_BENCH_INTERNAL_H
#include "bench/bench.h"
#include "bench/document.h"

// bench/variant_parse.c. A variant's object, or the program of a reference. Checks no name against the bench.
enum kb_variant_form { KB_FORM_VARIANT, KB_FORM_REFERENCE };
int kb_variant_read(const struct kb_document *doc, const cJSON *item, enum kb_variant_form form, struct kb_variant *v);
void kb_variant_clear(struct kb_variant *v);
// The item of launch number i of a variant's object: {grid, block, ...}, and its list of args; NULL where not given.
const cJSON *kb_launch_item(const cJSON *variant, int i);
const cJSON *kb_launch_args_item(const cJSON *variant, int i);

// bench/fill.c
int kb_fill_read(const struct kb_document *doc, const cJSON *item, enum kb_dtype dtype, struct kb_fill *fill);
struct kb_fill kb_fill_default(enum kb_dtype dtype);

// bench/check.c: what the parts of a bench say about each other.
int kb_bench_check(const struct kb_document *doc, const struct kb_bench *b);

// bench/accept.c: the list `accept`, or NULL.
int kb_accept_check(const struct kb_document *doc, const cJSON *list);

int kb_read_text(const struct kb_document *doc, const cJSON *item, char **out); // a text that is not empty
char *kb_expression_text(const cJSON *item);                                    // of an integer or a text; owned
// A list of texts; *out is NULL-terminated.
int kb_read_texts(const struct kb_document *doc, const cJSON *item, char ***out, int *count);
void kb_free_texts(char **texts, int count);
// The keys "command" and "timeout_s" of a reference or a variant.
int kb_read_command(const struct kb_document *doc, const cJSON *item, char ***command, int *timeout_s);
bool kb_is_identifier(const char *s);
int kb_read_identifier(const struct kb_document *doc, const cJSON *item, const char *name);

// The integer that a macro's value or a template argument stands for ("8", "0x10u", "(2*4)", "true").
bool kb_integer_of(const char *text, const struct kb_names *names, int64_t *value);
void kb_add_define_names(const struct kb_variant *v, struct kb_names *names);

#endif
