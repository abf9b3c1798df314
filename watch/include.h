// Which other files a source names: #include in all its spellings, the macros such a line may use, __has_include.
// The preprocessor is not run, so lines that an #if switches off count too.
#ifndef KB_WATCH_INCLUDE_H
#define KB_WATCH_INCLUDE_H
#include <stdbool.h>
#include <stddef.h>

enum kb_include_form {
    KB_INCLUDE_QUOTED, // "x"
    KB_INCLUDE_ANGLED, // <x>
    KB_INCLUDE_MACRO,  // anything else, to be made out by the defines (watch/macro.h): the rest of the line
};
struct kb_include {
    enum kb_include_form form;
    char *name;
    bool next;      // #include_next
    bool condition; // __has_include: nothing is read
};
struct kb_include_define { // #define NAME body, #define NAME(params) body
    char *name, *body;
    char *params; // "a,b,..." without blanks; NULL: it has none
};
struct kb_include_list {
    struct kb_include *includes;
    size_t include_count, include_capacity;
    struct kb_include_define *defines;
    size_t define_count, define_capacity;
};
// Appends what text names to list (zeroed before the first call).
void kb_include_scan(const char *text, size_t size, struct kb_include_list *list);
// "NAME=VALUE" or "NAME" of a compiler's command line.
void kb_include_define(struct kb_include_list *list, const char *define);
void kb_include_list_free(struct kb_include_list *list);

#endif
