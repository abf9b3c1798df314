// Looking at single files without being caught by them: a FIFO or a device is never opened, only regular files are
// read.
#ifndef KB_WATCH_PROBE_H
#define KB_WATCH_PROBE_H
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What stat() says; two stamps that differ mean that the content may differ, never more than that.
struct kb_stamp {
    bool exists, regular;
    uint64_t device, inode, size;
    int64_t modified_ns, changed_ns; // wall-clock time of content and of inode
};
// reopen: ask an open descriptor, which makes a network file system check with its server.
struct kb_stamp kb_stamp_of(const char *path, bool reopen);
bool kb_stamp_same(const struct kb_stamp *a, const struct kb_stamp *b);         // all of it
bool kb_stamp_same_content(const struct kb_stamp *a, const struct kb_stamp *b); // all but changed_ns
// Modified so recently that a further write may have left the stamp as it is (coarse clocks, FAT's two seconds).
bool kb_stamp_is_recent(const struct kb_stamp *s);

// Reads a regular file; data is NUL-terminated behind *size bytes and owned by the caller. *stamp is from before the
// reading, on failure too. errno is kept: EISDIR, ENOTSUP for a FIFO, socket or device, EFBIG over limit bytes.
int kb_probe_read(const char *path, size_t limit, char **data, size_t *size, struct kb_stamp *stamp,
                  struct kb_error *e);
// errno of a file that is simply not there.
bool kb_is_absence(int error);

// Does any process have this file open for writing? The kernel answers by granting a read lease or refusing it; it
// only answers to the file's owner, and on local file systems.
enum kb_writer { KB_WRITER_NONE, KB_WRITER_OPEN, KB_WRITER_UNKNOWN };
enum kb_writer kb_writer_of(const char *path);

// Whether the file itself is mounted ("mount --bind a.cu b.cu", a container's single-file volume): whoever replaces the
// file elsewhere by renaming leaves the old one here.
bool kb_is_mounted_file(const char *path);

// Name of the file system ("NFS") if inotify does not see there what others change; NULL if it does.
const char *kb_mount_without_events(const char *path);

#endif
