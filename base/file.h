// Whole files: reading with a limit, replacing so that a reader or a crash never sees half of one.
#ifndef KB_BASE_FILE_H
#define KB_BASE_FILE_H
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

// Reads all of path (NUL added behind *size bytes; owned by the caller). Fails if it holds more than limit bytes.
// errno is kept on failure.
int kb_file_read(const char *path, size_t limit, char **data, size_t *size, struct kb_error *e);
// Write to a temporary beside path, fsync, rename over path. Parent folders must exist.
int kb_file_replace(const char *path, const void *data, size_t size, struct kb_error *e);
// Writes a file that is not there yet; where there is one, even a link to nowhere, it is left alone: -1, errno EEXIST.
int kb_file_create(const char *path, const void *data, size_t size, struct kb_error *e);
// Writes all of it, whatever interrupts; -1 with errno.
int kb_write_all(int fd, const void *bytes, size_t size);
int kb_make_dirs(const char *path, struct kb_error *e); // like mkdir -p
int kb_remove_tree(const char *path);                   // like rm -rf; follows no links; 0 if gone
bool kb_is_dir(const char *path);
bool kb_is_file(const char *path);

char *kb_path_join(const char *dir, const char *name); // absolute name wins; owned
char *kb_path_dir(const char *path);                   // "." where there is none; owned
const char *kb_path_base(const char *path);            // points into path
// Absolute, "." and ".." and doubled slashes resolved by text alone (no file needs to exist); owned.
char *kb_path_clean(const char *path);
// path relative to dir when inside it, else path itself; both cleaned and absolute; owned.
char *kb_path_relative(const char *dir, const char *path);
char *kb_path_between(const char *dir, const char *path); // both clean and absolute: "../x" where it is not below; owned

// $XDG_STATE_HOME/kbench, else ~/.local/state/kbench; not created; owned. NULL without either.
char *kb_state_dir(void);
// $KB_CACHE, else $XDG_CACHE_HOME/kbench, else ~/.cache/kbench; created; owned. NULL if none can be made.
char *kb_cache_dir(void);

#endif
