// Inside of watch/: the folders that inotify watches, their events, and the limits it can run into.
#ifndef KB_WATCH_INOTIFY_H
#define KB_WATCH_INOTIFY_H
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// The four system calls, so that tests can make them fail or answer as they like.
struct kb_inotify_calls {
    int (*init)(int flags);
    int (*add)(int fd, const char *path, uint32_t mask);
    int (*remove)(int fd, int wd);
    ssize_t (*read)(int fd, void *buffer, size_t size);
};
extern const struct kb_inotify_calls kb_inotify_system;
void kb_inotify_use(const struct kb_inotify_calls *calls); // NULL: the system's; for watches made from now on

struct kb_notifier_dir {
    char *path; // physical, NULL: this place in the table is free
    int wd;     // -1: not watched
    bool wanted;
    uint64_t device, inode;
    char *deaf; // why no events come from here ("NFS"); NULL: they come
};
struct kb_notifier {
    int fd; // -1: closed
    const struct kb_inotify_calls *calls;
    struct kb_notifier_dir *dirs;
    size_t dir_count, dir_capacity;
    bool vanished; // a folder went away while it was to be watched: want() again
};
// Fails with errno EMFILE (max_user_instances, or the process' descriptors), or what the system says; e says which
// limit, its value and how to raise it.
int kb_notifier_open(struct kb_notifier *n, struct kb_error *e);
void kb_notifier_close(struct kb_notifier *n);

// Mark and sweep: begin, then want() each folder, then end(). want() gives the index of the folder in dirs; indices
// of wanted folders stay. *added becomes true if a new watch was set. -1: a limit was reached (errno ENOSPC, ENOMEM).
void kb_notifier_begin(struct kb_notifier *n);
int kb_notifier_want(struct kb_notifier *n, const char *path, bool *added, struct kb_error *e);
void kb_notifier_end(struct kb_notifier *n);
// Is each watched path still the folder that was watched? A renamed ancestor causes no event.
bool kb_notifier_in_place(struct kb_notifier *n);

struct kb_notice {
    int dir;          // index; -1: the queue overflowed
    const char *name; // in that folder; NULL: the folder itself is gone or was moved
    uint32_t mask;
};
// Reads what is there (1 MiB at most) and calls back for each notice (once for each table entry that names that
// folder). Returns the number of notices.
int kb_notifier_read(struct kb_notifier *n, void (*take)(void *context, const struct kb_notice *notice), void *context);

#endif
