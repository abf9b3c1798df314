// What the tests of watch/ share: a folder of their own (outside the temp folder, where vim would save differently),
// files written the way editors do it, and a log of events that is filled until something is seen.
#ifndef KB_TESTS_SUPPORT_WATCH_H
#define KB_TESTS_SUPPORT_WATCH_H
#include "watch/watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka wants those before it.
#include <cmocka.h>

char *scratch_dir(void); // fresh; removed by scratch_remove
void scratch_remove(char *dir);
char *in_dir(const char *dir, const char *name);

void put(const char *dir, const char *name, const char *text); // open, truncate, write, close; folders are made
void put_by_rename(const char *dir, const char *name, const char *text); // write a temporary, rename it over name
char *get(const char *dir, const char *name);

struct seen {
    enum kb_watch_event_kind kind;
    int source;
    char *main; // content of files[0] of a CHANGED
    struct kb_snapshot snapshot;
    bool polling;
    struct kb_error error;
};
struct seen_log {
    struct seen *events;
    int count, capacity;
};
// Runs the watch until an event of this kind for this source (-1: any) has come that was not in the log before.
// Fails the test after 20 s.
void run_until(struct kb_watch *w, struct seen_log *log, enum kb_watch_event_kind kind, int source);
// Takes the events that are there and waits a little for more.
void run_some(struct kb_watch *w, struct seen_log *log);
// Runs the watch for as long as it takes to see another source change and settle.
void run_past(struct kb_watch *w, struct seen_log *log, const char *dir, int sentinel);
int seen_count(const struct seen_log *log, enum kb_watch_event_kind kind, int source);
const struct seen *seen_last(const struct seen_log *log, enum kb_watch_event_kind kind, int source);
void seen_clear(struct seen_log *log);
const struct kb_snapshot_file *snapshot_file(const struct kb_snapshot *s, const char *name);

#endif
