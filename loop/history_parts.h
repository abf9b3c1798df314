// The inside of the history, shared by its files. Nobody else includes this.
#ifndef KB_LOOP_HISTORY_PARTS_H
#define KB_LOOP_HISTORY_PARTS_H
#include "loop/history.h"

#include <stdint.h>

struct kb_history_version {
    int number;
    char *key; // "" where the record cannot be read
};
struct kb_history_variant { // what versions/<variant>/ held when it was last read
    char *name, *dir;
    struct kb_history_version *versions; // rising
    size_t count, capacity;
    int64_t changed_ns; // of the folder
    bool certain;       // it had not changed for so long that its time stamp can be relied on
};
struct kb_history {
    char *dir, *objects;
    char owner[9]; // of temporary files: this host and process namespace
    unsigned temporaries;
    struct kb_history_variant *variants;
    size_t variant_count, variant_capacity;
    int session; // descriptor, -1 before the first line
};

// Fills e from errno: what cannot be written, and what to do. Returns -1; errno is kept.
int kb_history_fail_write(struct kb_error *e, const char *path);
int kb_history_sync_dir(const char *dir);
// Like kb_file_read, but a FIFO under one of our names blocks nobody.
int kb_history_read(const char *path, size_t limit, char **data, size_t *size, struct kb_error *e);
// Writes and syncs a new file in dir; its path, owned, or NULL with errno set.
char *kb_history_temporary(struct kb_history *h, const char *dir, const void *data, size_t size);
// Replaces dir/name by these bytes.
int kb_history_replace(struct kb_history *h, const char *dir, const char *name, const void *data, size_t size,
                       struct kb_error *e);
// Gives a temporary its name unless that is taken: 0, or -1 with errno (EEXIST: taken). The temporary is used up
// when 0 is returned.
int kb_history_publish(const char *temporary, const char *path);

// Makes sure that the bytes are in objects/ (not yet that the folder is synced).
int kb_history_put_object(struct kb_history *h, const void *data, size_t size, struct kb_hash *hash,
                          struct kb_error *e);

struct kb_history_variant *kb_history_variant(struct kb_history *h, const char *name);
void kb_history_refresh(struct kb_history_variant *v);
void kb_history_forget(struct kb_history *h);      // all variants
char *kb_history_variant_folder(const char *name); // its name in versions/; owned

#endif
