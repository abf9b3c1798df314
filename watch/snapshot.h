// Inside of watch/: taking a snapshot through somebody else's eyes.
#ifndef KB_WATCH_SNAPSHOT_H
#define KB_WATCH_SNAPSHOT_H
#include "watch/watch.h"

// Reads one file like kb_probe_read; may answer from a memory of its own.
struct kb_snapshot_reader {
    int (*read)(void *context, const char *path, size_t limit, char **data, size_t *size, struct kb_error *e);
    void *context;
};
struct kb_snapshot_request {
    const char *main_path;
    const struct kb_reach *reach; // NULL: nothing but what stands beside it
    bool plain;                   // no headers are followed; up to 512 MiB
    struct kb_snapshot_reader reader;
};
int kb_snapshot_read(const struct kb_snapshot_request *request, struct kb_snapshot *out, struct kb_error *e);

#endif
