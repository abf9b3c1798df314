#include "support_watch.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *scratch_dir(void)
{
    char *dir = kb_format("%s/test-watch-XXXXXX", KB_BUILD_DIR);
    assert_non_null(mkdtemp(dir));
    char *real = realpath(dir, NULL);
    free(dir);
    return real;
}

void scratch_remove(char *dir)
{
    kb_remove_tree(dir);
    free(dir);
}

char *in_dir(const char *dir, const char *name)
{
    return kb_path_join(dir, name);
}

static void write_file(const char *path, const char *text)
{
    char *parent = kb_path_dir(path);
    assert_int_equal(kb_make_dirs(parent, NULL), 0);
    free(parent);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(close(fd), 0);
}

void put(const char *dir, const char *name, const char *text)
{
    char *path = in_dir(dir, name);
    write_file(path, text);
    free(path);
}

void put_by_rename(const char *dir, const char *name, const char *text)
{
    char *path = in_dir(dir, name), *temporary = kb_format("%s.new", path);
    write_file(temporary, text);
    assert_int_equal(rename(temporary, path), 0);
    free(path);
    free(temporary);
}

char *get(const char *dir, const char *name)
{
    char *path = in_dir(dir, name), *data = NULL;
    size_t size = 0;
    assert_int_equal(kb_file_read(path, 1 << 20, &data, &size, NULL), 0);
    free(path);
    return data;
}

static void record(struct seen_log *log, struct kb_watch_event *event)
{
    KB_GROW(log->events, log->count, log->capacity);
    struct seen *seen = &log->events[log->count++];
    *seen = (struct seen){event->kind, event->source, NULL, event->snapshot, event->polling, event->error};
    if (event->kind == KB_WATCH_CHANGED)
        seen->main = kb_strdup(event->snapshot.files[0].data);
}

// True if it stopped at such an event.
static bool run_queue(struct kb_watch *w, struct seen_log *log, int kind, int source)
{
    struct kb_watch_event event;
    while (kb_watch_next(w, &event)) {
        record(log, &event);
        if ((int)event.kind == kind && (source < 0 || event.source == source))
            return true;
    }
    return false;
}

static void wait_for_more(struct kb_watch *w, int most_ms)
{
    struct pollfd fd = {.fd = kb_watch_fd(w), .events = POLLIN};
    int wait = kb_watch_wait_ms(w);
    poll(&fd, 1, wait < 0 || wait > most_ms ? most_ms : wait);
}

void run_some(struct kb_watch *w, struct seen_log *log)
{
    run_queue(w, log, -1, -1);
    wait_for_more(w, 20);
}

void run_until(struct kb_watch *w, struct seen_log *log, enum kb_watch_event_kind kind, int source)
{
    for (int64_t end = kb_now_us() + 20000000; kb_now_us() < end; wait_for_more(w, 1000))
        if (run_queue(w, log, (int)kind, source))
            return;
    fail_msg("event %d of source %d did not come; %d others did", kind, source, log->count);
}

void run_past(struct kb_watch *w, struct seen_log *log, const char *dir, int sentinel)
{
    static int number;
    char *text = kb_format("%d", ++number);
    put(dir, "sentinel", text);
    free(text);
    run_until(w, log, KB_WATCH_CHANGED, sentinel);
    run_until(w, log, KB_WATCH_SETTLED, sentinel);
}

int seen_count(const struct seen_log *log, enum kb_watch_event_kind kind, int source)
{
    int count = 0;
    for (int i = 0; i < log->count; i++)
        count += log->events[i].kind == kind && log->events[i].source == source;
    return count;
}

const struct seen *seen_last(const struct seen_log *log, enum kb_watch_event_kind kind, int source)
{
    for (int i = log->count - 1; i >= 0; i--)
        if (log->events[i].kind == kind && log->events[i].source == source)
            return &log->events[i];
    fail_msg("no event %d of source %d", kind, source);
    return NULL;
}

void seen_clear(struct seen_log *log)
{
    for (int i = 0; i < log->count; i++) {
        free(log->events[i].main);
        kb_snapshot_free(&log->events[i].snapshot);
    }
    free(log->events);
    *log = (struct seen_log){0};
}

const struct kb_snapshot_file *snapshot_file(const struct kb_snapshot *s, const char *name)
{
    for (int i = 0; i < s->file_count; i++)
        if (!strcmp(s->files[i].name, name))
            return &s->files[i];
    return NULL;
}
