// Internal to bench/: a JSON document whose errors name the file, the line and the key.
#ifndef KB_BENCH_DOCUMENT_H
#define KB_BENCH_DOCUMENT_H
#include "base/error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

struct kb_document {
    const char *path; // for messages
    const char *text; // NULL if it came without: errors then name the key, but no line
    size_t size;
    const cJSON *root;
    struct kb_error *e;
};

// Parses text into doc->root, which the caller owns. A syntax error names its line.
int kb_document_parse(struct kb_document *doc, cJSON **root);

// Fails at an item of the document (NULL: the root): "path:line", "variants[2].launch.grid: ...".
int kb_document_fail(const struct kb_document *doc, const cJSON *item, const char *remedy, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

enum { // what a key's value may be
    KB_JSON_TEXT = 1,
    KB_JSON_INTEGER = 2,
    KB_JSON_NUMBER = 4,
    KB_JSON_BOOL = 8,
    KB_JSON_OBJECT = 16,
    KB_JSON_ARRAY = 32,
    KB_JSON_REQUIRED = 64,
    KB_JSON_EXPRESSION = KB_JSON_TEXT | KB_JSON_INTEGER
};
struct kb_key {
    const char *name;
    int types;
};
// item must be an object that holds only these keys (and "comment" and "$schema"), each once, with these types, and
// all that are required. what: "an argument".
int kb_document_keys(const struct kb_document *doc, const cJSON *item, const struct kb_key *keys, size_t n,
                     const char *what);
int kb_document_type(const struct kb_document *doc, const cJSON *item, int types);
bool kb_is_comment(const cJSON *item); // a "comment" or "$schema" member

// word is not among the known ones: fails with the nearest of them.
int kb_document_unknown(const struct kb_document *doc, const cJSON *item, const char *kind, const char *word,
                        const char *const *known, size_t n);

#endif
