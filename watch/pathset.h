// A set of paths that numbers them in the order in which they came.
#ifndef KB_WATCH_PATHSET_H
#define KB_WATCH_PATHSET_H
#include <stdbool.h>
#include <stddef.h>

struct kb_pathset {
    char **paths;
    size_t count, capacity;
    size_t *slots; // open addressing: index + 1, 0 for free
    size_t slot_count;
};
// Index of path, or -1.
ptrdiff_t kb_pathset_find(const struct kb_pathset *set, const char *path);
// Index of path, which is copied if it is new; *is_new may be NULL.
size_t kb_pathset_add(struct kb_pathset *set, const char *path, bool *is_new);
void kb_pathset_free(struct kb_pathset *set);

#endif
