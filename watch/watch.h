// Watching sources: which files matter, when they changed, and their bytes at that moment. All calls may block on a
// disk: they belong to the io thread.
#ifndef KB_WATCH_WATCH_H
#define KB_WATCH_WATCH_H
#include "base/error.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// By what a source reaches headers, besides #include "x": all borrowed.
struct kb_reach {
    const char *const *include_dirs; // their headers go into a compile request
    int include_dir_count;
    // Compiler options (bench/options.h): folders, headers read first and files of options that they name, absolute.
    // Compilers read those by themselves, so their files are beside the request.
    const char *const *options;
    int option_count;
    const char *const *defines; // "NAME=VALUE": macros that an #include may name
    int define_count;
};

// One source with all the user's headers it can reach, read together.
struct kb_snapshot_file {
    char *path; // absolute
    char *name; // relative to the snapshot's root: what goes into a compile request
    char *data;
    size_t size;
    bool beside; // the compiler opens it by its path: not part of a request; name is the path
};
struct kb_snapshot {
    char *root;                     // absolute: the deepest folder that holds all files and include dirs
    char *main;                     // name of files[0]
    struct kb_snapshot_file *files; // [0] is the source itself
    int file_count;
    char **include_dirs; // relative to root
    int include_dir_count;
    char **missing; // absolute paths where a header that was not found would be looked for (these are watched too)
    int missing_count;
    char *opaque; // "k.cu: #include X(a)" whose file cannot be made out, so that it may change unseen; NULL: none
    struct kb_hash hash; // over names and contents of all files, main first, then by name
    int64_t saved_us;    // kb_now_us() of the event that caused it; 0 if none (first reading)
};
void kb_snapshot_free(struct kb_snapshot *);
// Follows #include "x" and <x> (also through macros) from main, and what reach names (NULL: nothing); files outside
// what resolves are the toolkit's. Reads each once. Fails if main cannot be read (errno kept), or over 64 MiB or
// 5,000 files.
int kb_snapshot_take(const char *main_path, const struct kb_reach *reach, struct kb_snapshot *out, struct kb_error *);

enum kb_watch_event_kind {
    KB_WATCH_CHANGED,    // a source, or a header of it, has new content: snapshot filled
    KB_WATCH_SAME,       // it was written, but nothing changed
    KB_WATCH_MISSING,    // the source is gone for longer than the quiet time
    KB_WATCH_UNREADABLE, // error filled (permission, a folder, too large)
    KB_WATCH_SETTLED,    // no event for the quiet time since the last CHANGED: that content is final
    KB_WATCH_MODE,       // inotify or polling now, error.what says why
    KB_WATCH_MOUNTED,    // error: one of its files is a mount of its own, so that saves elsewhere may not be seen
};
struct kb_watch_event {
    enum kb_watch_event_kind kind;
    int source;                  // index given by kb_watch_add; -1: all (MODE)
    struct kb_snapshot snapshot; // CHANGED; owned by whoever takes the event
    bool polling;                // MODE
    struct kb_error error;       // UNREADABLE, MODE, MOUNTED
};
void kb_watch_event_free(struct kb_watch_event *);

struct kb_watch;
struct kb_watch_options {
    int quiet_ms; // 0: 40
    int poll_ms;  // 0: 250
    bool force_polling;
};
struct kb_watch *kb_watch_new(const struct kb_watch_options *); // never fails: falls back to polling
void kb_watch_free(struct kb_watch *);
// reach (NULL: nothing) is copied. Takes the first snapshot (an event CHANGED or MISSING follows at the next
// kb_watch_next; up to a second later if the file is just being written). plain: no headers are followed (bench.json,
// .npy). Returns the index of the source.
int kb_watch_add(struct kb_watch *, const char *path, const struct kb_reach *reach, bool plain);
void kb_watch_remove(struct kb_watch *, int source);
int kb_watch_fd(const struct kb_watch *);      // for poll: readable when there may be something; -1 when polling
int kb_watch_wait_ms(const struct kb_watch *); // until a timer of its own is due; -1: none
// Handles what is there without waiting. 1: an event is in *out; 0: nothing now.
int kb_watch_next(struct kb_watch *, struct kb_watch_event *out);

#endif
