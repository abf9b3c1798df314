// Inside of watch/: one watched source with the files it depends on, and what happened to each of them.
#ifndef KB_WATCH_WATCHED_H
#define KB_WATCH_WATCHED_H
#include "watch/inotify.h"
#include "watch/pathset.h"
#include "watch/probe.h"
#include "watch/watch.h"

struct kb_tracked {
    struct kb_stamp stamp; // when it was last read or looked at
    bool in_snapshot;      // else a place where a header was looked for
    bool mount_asked;      // whether it is a mount of one file
    char *data;            // content in the last snapshot, to be used while the file is being rewritten; NULL: none
    size_t size;
    bool open;        // being written: its content does not count
    bool scanned;     // found by looking, so that no close event can be relied on
    int64_t open_us;  // last sign of the writing
    int64_t check_us; // when to look whether a writer is still there
    bool gone;        // deleted or renamed away less than the quiet time ago
    int64_t gone_us;
};

// An event on `name` in a folder concerns a tracked file, or (-1) a step on the way to some: a symbolic link, or the
// nearest existing ancestor of something that is missing.
struct kb_interest {
    int dir; // index in the notifier
    char *name;
    int tracked;
};

enum kb_watched_state { KB_WATCHED_FRESH, KB_WATCHED_PRESENT, KB_WATCHED_MISSING, KB_WATCHED_UNREADABLE };

struct kb_watched {
    char *path;         // cleaned
    char **reach_texts; // all that reach points to
    struct kb_reach reach;
    bool plain;
    enum kb_watched_state state;
    struct kb_error failure; // UNREADABLE
    bool has_hash;
    struct kb_hash hash;     // of the last snapshot
    struct kb_pathset names; // path of tracked[i]; [0] is the source
    struct kb_tracked *tracked;
    struct kb_interest *interests;
    size_t interest_count, interest_capacity;
    bool dirty, loud;    // a snapshot is to be taken; say so even if it is the same
    int64_t dirty_us;    // of the event that made it dirty
    int64_t due_us;      // not before this time
    int64_t unsteady_us; // since then every reading met a writer; 0: the last one did not
    bool gap_over;       // the source was gone for the quiet time
    bool unsettled;
    int64_t event_us; // last event on any of its files
    unsigned touches; // number of those events
    bool lost;        // interests and watches must be made anew, files looked at
    char *deaf;       // why its files are polled although inotify works; NULL: they aren't
};

struct kb_watched *kb_watched_new(const char *path, const struct kb_reach *reach, bool plain);
void kb_watched_free(struct kb_watched *s);

// What events say. quiet_us decides when an open file is checked first.
void kb_watched_saved(struct kb_watched *s, int tracked, int64_t now_us, bool loud);
void kb_watched_writing(struct kb_watched *s, int tracked, int64_t now_us, bool scanned, int64_t quiet_us);
void kb_watched_vanished(struct kb_watched *s, int tracked, int64_t now_us);
void kb_watched_dirty(struct kb_watched *s, int64_t now_us, bool loud);

// Compares all tracked files with the disk and turns differences into the events that inotify would have sent.
struct kb_look {
    int64_t now_us, quiet_us;
    bool reopen; // see kb_stamp_of
    bool loud;
    bool contents; // also compares what was modified so recently that its stamp proves nothing
};
void kb_watched_look(struct kb_watched *s, const struct kb_look *look);

// Timers of single files: gaps that are over, writers that are gone without an event.
void kb_watched_timers(struct kb_watched *s, int64_t now_us, int64_t quiet_us, int64_t poll_us);
int64_t kb_watched_due_us(const struct kb_watched *s, int64_t quiet_us); // INT64_MAX: nothing will be due
bool kb_watched_is_settled(const struct kb_watched *s, int64_t now_us, int64_t quiet_us);

// A snapshot in which files that are being rewritten count with their last content. Nothing in s changes until
// kb_watched_accept is given the same reading; a reading is freed by accept or discard.
struct kb_reading {
    struct kb_snapshot snapshot;
    struct kb_error error;
    int status, error_number;
    struct kb_pathset read; // what was asked for, found or not
    struct kb_stamp *stamps;
    size_t capacity;
};
void kb_watched_read(struct kb_watched *s, struct kb_reading *reading);
// False if a file that was read is being written at this moment. An event would say so as well, but truncating a file
// comes before its event, and where files are polled there are none (polled: such a file counts as open from now on).
bool kb_watched_is_steady(struct kb_watched *s, const struct kb_reading *reading, bool polled, int64_t now_us,
                          int64_t quiet_us);
void kb_watched_accept(struct kb_watched *s, struct kb_reading *reading); // the snapshot stays with the caller
void kb_watched_discard(struct kb_reading *reading);

// Finds the folders and names on which s depends (after kb_notifier_begin). -1: a limit was reached.
int kb_watched_find_interests(struct kb_watched *s, struct kb_notifier *n, bool *added, struct kb_error *e);
void kb_watched_keep_interests(const struct kb_watched *s, struct kb_notifier *n); // marks them as wanted
void kb_watched_drop_interests(struct kb_watched *s);

#endif
