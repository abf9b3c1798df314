// Which other files a source names: #include in all its spellings, the macros such a line may use, __has_include.
// The preprocessor is not run, so lines that an #if switches off count too.
#ifndef KB_WATCH_INCLUDE_H
#define KB_WATCH_INCLUDE_H
#include <stdbool.h>
#include <stddef.h>

enum kb_include_form {
    KB_INCLUDE_QUOTED, // "x"
    KB_INCLUDE_ANGLED, // <x>
    KB_INCLUDE_MACRO,  // NAME, to be looked up among the defines
};
struct kb_include {
    enum kb_include_form form;
    char *name;
    bool next; // #include_next
};
struct kb_include_define { // #define NAME "x", <x> or another NAME
    char *name;
    struct kb_include value;
};
struct kb_include_list {
    struct kb_include *includes;
    size_t include_count, include_capacity;
    struct kb_include_define *defines;
    size_t define_count, define_capacity;
};
// Appends what text names to list (zeroed before the first call).
void kb_include_scan(const char *text, size_t size, struct kb_include_list *list);
void kb_include_list_free(struct kb_include_list *list);

#endif
