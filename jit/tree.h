// The files of a compile request on disk: a private temporary folder that is gone after the compile, at exit, or, after
// a kill, at the start of the next worker.
#ifndef KB_JIT_TREE_H
#define KB_JIT_TREE_H
#include "jit/compile.h"

struct kb_tree {
    char *dir; // absolute
};
// Writes every file, without byte order mark and behind a #line with its name, so that neither messages nor line tables
// know the folder. Names that leave the folder, and control characters in them, are refused.
int kb_tree_open(struct kb_tree *t, const struct kb_compile_request *r, struct kb_error *e);
void kb_tree_close(struct kb_tree *t);

int kb_tree_check_name(const char *name, struct kb_error *e);
// A file's text as the compiler gets it: "#line 1 \"name\"\n", then data without byte order mark. Owned by the caller.
char *kb_tree_marked(const char *name, const char *data, size_t size, size_t *marked_size);
int kb_tree_write(const struct kb_tree *t, const char *name, const void *data, size_t size, struct kb_error *e);
// Another text for a file that is there; what watches its folder does not take that for reading it.
int kb_tree_replace(const struct kb_tree *t, const char *name, const void *data, size_t size, struct kb_error *e);
// Every "DIR/" in text removed. Owned by the caller.
char *kb_tree_hide(const struct kb_tree *t, const char *text);

// A new folder inside this process' temporary folder; owned by the caller. NULL with the error filled.
char *kb_tree_folder(struct kb_error *e);
// Removes this process' temporary folder, as exit() does; for those that end by _exit().
void kb_tree_remove_all(void);

#endif
