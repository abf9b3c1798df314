// One lock file a GPU (by UUID): between instances of kbench-tui on one machine only one uses a GPU at a time. The lock
// is an flock, so it vanishes with its holder however that ends.
#ifndef KB_LOOP_GPU_LOCK_H
#define KB_LOOP_GPU_LOCK_H
#include "base/error.h"

#include <stdbool.h>

struct kb_gpu_lock {
    char *path; // NULL: no lock is used (no UUID, or no place for the file)
    int fd;
    bool held;
};
// Opens (or makes) the file in $XDG_RUNTIME_DIR, else the folder for temporary files. -1: no lock can be had; the
// error says why, and the lock then always succeeds.
int kb_gpu_lock_open(struct kb_gpu_lock *, const char *uuid, struct kb_error *);
bool kb_gpu_lock_try(struct kb_gpu_lock *); // never waits; true if it is (or was already) held
void kb_gpu_lock_release(struct kb_gpu_lock *);
int kb_gpu_lock_holder(const struct kb_gpu_lock *); // pid written by the last holder; 0 unknown
void kb_gpu_lock_close(struct kb_gpu_lock *);

#endif
