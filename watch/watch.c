#include "watch/watch.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "watch/snapshot.h"
#include "watch/watched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

// How often the folders' identity and all stamps are looked at although events come: a renamed ancestor, a hard link
// elsewhere, a mount that swallows events without being known for it.
static const int64_t safety_us = 2000000;

struct kb_watch {
    int64_t quiet_us, poll_us;
    bool polling; // everything
    struct kb_notifier notifier;
    struct kb_watched **sources; // NULL: removed
    size_t source_count, source_capacity;
    struct kb_watch_event *queue;
    size_t queue_first, queue_count, queue_capacity;
    int64_t now_us; // when the events at hand were read
    int64_t next_poll_us, next_safety_us;
};

static struct kb_watch_event *emit(struct kb_watch *w, enum kb_watch_event_kind kind, int source)
{
    if (w->queue_first == w->queue_count)
        w->queue_first = w->queue_count = 0;
    KB_GROW(w->queue, w->queue_count, w->queue_capacity);
    struct kb_watch_event *event = &w->queue[w->queue_count++];
    *event = (struct kb_watch_event){.kind = kind, .source = source, .polling = w->polling};
    return event;
}

static void go_polling(struct kb_watch *w, const struct kb_error *why)
{
    w->polling = true;
    kb_notifier_close(&w->notifier);
    for (size_t i = 0; i < w->source_count; i++)
        if (w->sources[i])
            kb_watched_drop_interests(w->sources[i]);
    w->next_poll_us = 0;
    struct kb_error *e = &emit(w, KB_WATCH_MODE, -1)->error;
    kb_fail(e, why->on, why->remedy, "%s: looking at the files every %d ms instead", why->what,
            (int)(w->poll_us / 1000));
}

struct kb_watch *kb_watch_new(const struct kb_watch_options *options)
{
    struct kb_watch *w = kb_alloc(sizeof *w);
    w->quiet_us = (options && options->quiet_ms > 0 ? options->quiet_ms : 40) * INT64_C(1000);
    w->poll_us = (options && options->poll_ms > 0 ? options->poll_ms : 250) * INT64_C(1000);
    w->now_us = kb_now_us();
    w->next_safety_us = w->now_us + safety_us;
    w->notifier.fd = -1;
    struct kb_error e;
    if (options && options->force_polling) {
        kb_fail(&e, NULL, NULL, "polling was asked for");
        go_polling(w, &e);
    } else if (kb_notifier_open(&w->notifier, &e)) {
        go_polling(w, &e);
    }
    return w;
}

void kb_watch_event_free(struct kb_watch_event *event)
{
    kb_snapshot_free(&event->snapshot);
}

void kb_watch_free(struct kb_watch *w)
{
    if (!w)
        return;
    for (size_t i = w->queue_first; i < w->queue_count; i++)
        kb_watch_event_free(&w->queue[i]);
    free(w->queue);
    for (size_t i = 0; i < w->source_count; i++)
        kb_watched_free(w->sources[i]);
    free(w->sources);
    kb_notifier_close(&w->notifier);
    free(w);
}

int kb_watch_add(struct kb_watch *w, const char *path, const struct kb_reach *reach, bool plain)
{
    struct kb_watched *s = kb_watched_new(path, reach, plain);
    s->event_us = kb_now_us();
    KB_GROW(w->sources, w->source_count, w->source_capacity);
    w->sources[w->source_count] = s;
    return (int)w->source_count++;
}

void kb_watch_remove(struct kb_watch *w, int source)
{
    if (source < 0 || (size_t)source >= w->source_count)
        return;
    kb_watched_free(w->sources[source]);
    w->sources[source] = NULL;
    size_t kept = w->queue_first;
    for (size_t i = w->queue_first; i < w->queue_count; i++) {
        if (w->queue[i].source == source)
            kb_watch_event_free(&w->queue[i]);
        else
            w->queue[kept++] = w->queue[i];
    }
    w->queue_count = kept;
}

int kb_watch_fd(const struct kb_watch *w)
{
    return w->notifier.fd;
}

// A new name: complete already if it is a link, else its writer is about to fill it.
static void take_creation(struct kb_watch *w, struct kb_watched *s, int tracked, const struct kb_notice *notice)
{
    char *path = kb_path_join(w->notifier.dirs[notice->dir].path, notice->name);
    struct stat info;
    int status = lstat(path, &info);
    free(path);
    if (status)
        return; // gone again; that event follows
    if (S_ISREG(info.st_mode) && info.st_nlink == 1) {
        kb_watched_writing(s, tracked, w->now_us, false, w->quiet_us);
        return;
    }
    s->lost |= S_ISLNK(info.st_mode);
    kb_watched_saved(s, tracked, w->now_us, true);
}

static void take_notice_of_file(struct kb_watch *w, struct kb_watched *s, int tracked, const struct kb_notice *notice)
{
    const struct kb_tracked *t = &s->tracked[tracked];
    uint32_t mask = notice->mask;
    if (mask & (IN_CLOSE_WRITE | IN_MOVED_TO))
        kb_watched_saved(s, tracked, w->now_us, true);
    else if (mask & IN_CREATE)
        take_creation(w, s, tracked, notice);
    else if (mask & IN_MODIFY)
        kb_watched_writing(s, tracked, w->now_us, false, w->quiet_us);
    else if (mask & (IN_DELETE | IN_MOVED_FROM))
        kb_watched_vanished(s, tracked, w->now_us);
    else if (mask & IN_ATTRIB && (s->state == KB_WATCHED_UNREADABLE || (!t->in_snapshot && t->stamp.exists)))
        kb_watched_dirty(s, w->now_us, false);
}

static void take_notice(void *context, const struct kb_notice *notice)
{
    struct kb_watch *w = context;
    for (size_t i = 0; i < w->source_count; i++) {
        struct kb_watched *s = w->sources[i];
        if (!s)
            continue;
        if (notice->dir < 0) {
            s->lost = true;
            kb_watched_dirty(s, w->now_us, false);
            continue;
        }
        for (size_t k = 0; k < s->interest_count; k++) {
            const struct kb_interest *interest = &s->interests[k];
            if (interest->dir != notice->dir || (notice->name && strcmp(interest->name, notice->name)))
                continue;
            if (!notice->name || (interest->tracked < 0 && !(notice->mask & IN_ATTRIB)))
                s->lost = true;
            else if (interest->tracked >= 0)
                take_notice_of_file(w, s, interest->tracked, notice);
        }
    }
}

static void read_notices(struct kb_watch *w)
{
    w->now_us = kb_now_us();
    if (!w->polling)
        kb_notifier_read(&w->notifier, take_notice, w);
}

// A source with a file where events don't come is polled as well.
static void tell_deafness(struct kb_watch *w, int index)
{
    struct kb_watched *s = w->sources[index];
    const struct kb_notifier_dir *deaf = NULL;
    for (size_t i = 0; i < s->interest_count && !deaf; i++)
        if (w->notifier.dirs[s->interests[i].dir].deaf)
            deaf = &w->notifier.dirs[s->interests[i].dir];
    if (!deaf == !s->deaf && (!deaf || !strcmp(deaf->deaf, s->deaf)))
        return;
    free(s->deaf);
    s->deaf = deaf ? kb_strdup(deaf->deaf) : NULL;
    struct kb_watch_event *event = emit(w, KB_WATCH_MODE, index);
    event->polling = deaf != NULL;
    if (deaf)
        kb_fail(&event->error, deaf->path, NULL, "no events for changes here (%s): looking at the files every %d ms",
                deaf->deaf, (int)(w->poll_us / 1000));
    else
        kb_fail(&event->error, s->path, NULL, "events come again");
}

static void tell_mounts(struct kb_watch *w, int index)
{
    struct kb_watched *s = w->sources[index];
    for (size_t i = 0; i < s->names.count; i++) {
        struct kb_tracked *t = &s->tracked[i];
        if (!t->in_snapshot || t->mount_asked)
            continue;
        t->mount_asked = true;
        if (kb_is_mounted_file(s->names.paths[i]))
            kb_fail(&emit(w, KB_WATCH_MOUNTED, index)->error, s->names.paths[i], "mount its folder instead",
                    "is a mount of one file: an editor that saves by replacing it elsewhere is not seen here");
    }
}

// Makes the watches of all lost sources anew. False: nothing new is watched, so nothing can have slipped through.
static bool sync_watches(struct kb_watch *w)
{
    bool added = false;
    struct kb_error e;
    w->notifier.vanished = false;
    kb_notifier_begin(&w->notifier);
    for (size_t i = 0; i < w->source_count; i++)
        if (w->sources[i] && !w->sources[i]->lost)
            kb_watched_keep_interests(w->sources[i], &w->notifier);
    for (size_t i = 0; i < w->source_count; i++) {
        if (!w->sources[i] || !w->sources[i]->lost)
            continue;
        if (kb_watched_find_interests(w->sources[i], &w->notifier, &added, &e)) {
            go_polling(w, &e);
            return false;
        }
        tell_deafness(w, (int)i);
        tell_mounts(w, (int)i);
    }
    kb_notifier_end(&w->notifier);
    return added;
}

static void look_at_source(struct kb_watch *w, struct kb_watched *s, bool polled)
{
    if (s->state == KB_WATCHED_FRESH)
        return; // its first snapshot comes anyway
    struct kb_look look = {.now_us = w->now_us, .quiet_us = w->quiet_us};
    look.reopen = look.loud = look.contents = polled;
    kb_watched_look(s, &look);
}

// Watch first, look then: what is created between the two is seen by one of them. A way may grow while it is walked
// (folders made one in the other), hence the rounds.
static void find_lost(struct kb_watch *w)
{
    bool again = true;
    for (int round = 0; round < 5 && again; round++) {
        bool any = false;
        for (size_t i = 0; i < w->source_count; i++)
            any |= w->sources[i] && w->sources[i]->lost;
        if (!any)
            return;
        again = !w->polling && sync_watches(w);
        for (size_t i = 0; i < w->source_count; i++) {
            struct kb_watched *s = w->sources[i];
            if (!s || !s->lost)
                continue;
            s->lost = again;
            look_at_source(w, s, false);
        }
    }
    for (size_t i = 0; i < w->source_count; i++)
        if (w->sources[i])
            w->sources[i]->lost = false;
    if (w->notifier.vanished && w->next_safety_us > w->now_us + w->quiet_us)
        w->next_safety_us = w->now_us + w->quiet_us;
}

static void run_safety_net(struct kb_watch *w)
{
    if (w->polling || w->now_us < w->next_safety_us)
        return;
    w->next_safety_us = w->now_us + safety_us;
    bool lost = !kb_notifier_in_place(&w->notifier) || w->notifier.vanished;
    for (size_t i = 0; i < w->source_count; i++) {
        struct kb_watched *s = w->sources[i];
        if (!s)
            continue;
        s->lost |= lost;
        look_at_source(w, s, false);
    }
}

static void run_polls(struct kb_watch *w)
{
    if (w->now_us < w->next_poll_us)
        return;
    w->next_poll_us = w->now_us + w->poll_us;
    for (size_t i = 0; i < w->source_count; i++)
        if (w->sources[i] && (w->polling || w->sources[i]->deaf))
            look_at_source(w, w->sources[i], true);
}

static void settle(struct kb_watch *w, int index)
{
    if (!w->sources[index]->unsettled)
        return;
    w->sources[index]->unsettled = false;
    emit(w, KB_WATCH_SETTLED, index);
}

static bool is_unsteady(const struct kb_watched *s)
{
    for (size_t i = 0; i < s->names.count; i++)
        if (s->tracked[i].open || s->tracked[i].gone)
            return true;
    return false;
}

static void tell_success(struct kb_watch *w, int index, struct kb_snapshot *snapshot)
{
    struct kb_watched *s = w->sources[index];
    bool is_new = !s->has_hash || strcmp(s->hash.hex, snapshot->hash.hex) != 0;
    if (is_new) {
        snapshot->saved_us = s->state == KB_WATCHED_FRESH ? 0 : s->dirty_us;
        s->hash = snapshot->hash;
        s->has_hash = s->unsettled = true;
        emit(w, KB_WATCH_CHANGED, index)->snapshot = *snapshot;
    } else {
        // While a file is being rewritten its last content stood in for it: that says nothing yet.
        if ((s->loud && !is_unsteady(s)) || s->state != KB_WATCHED_PRESENT)
            emit(w, KB_WATCH_SAME, index);
        kb_snapshot_free(snapshot);
    }
    s->state = KB_WATCHED_PRESENT;
}

static void tell_failure(struct kb_watch *w, int index, const struct kb_reading *reading)
{
    struct kb_watched *s = w->sources[index];
    if (kb_is_absence(reading->error_number)) {
        bool may_return = s->state != KB_WATCHED_FRESH && s->state != KB_WATCHED_MISSING && !s->gap_over;
        if (may_return) {
            kb_watched_vanished(s, 0, w->now_us);
        } else if (s->state != KB_WATCHED_MISSING) {
            settle(w, index);
            s->state = KB_WATCHED_MISSING;
            emit(w, KB_WATCH_MISSING, index);
        }
        return;
    }
    if (s->state == KB_WATCHED_UNREADABLE && !strcmp(s->failure.what, reading->error.what))
        return;
    settle(w, index);
    s->state = KB_WATCHED_UNREADABLE;
    s->failure = reading->error;
    emit(w, KB_WATCH_UNREADABLE, index)->error = reading->error;
}

// At the first reading no events tell whether somebody is in the middle of saving; asking does. Whoever keeps the file
// open for good is not waited for.
static bool is_being_saved_at_first(const struct kb_watch *w, struct kb_watched *s)
{
    static const int64_t patience_us = 1000000, again_us = 10000;
    if (s->state != KB_WATCHED_FRESH || w->now_us - s->event_us > patience_us ||
        kb_writer_of(s->path) != KB_WRITER_OPEN)
        return false;
    s->due_us = w->now_us + again_us;
    return true;
}

// If any of its files had an event while the snapshot was read, the snapshot may be half of one version and half of
// the next.
static bool is_disturbed(struct kb_watch *w, struct kb_watched *s, const struct kb_reading *reading, unsigned touches)
{
    // Whoever keeps a file open for good is not waited for; on a busy machine the shortest save takes long.
    static const int64_t patience_us = 500000, again_us = 1000;
    bool polled = w->polling || s->deaf;
    read_notices(w);
    if (s->touches != touches) {
        if (is_unsteady(s))
            s->due_us = w->now_us + w->quiet_us;
        return true;
    }
    if (kb_watched_is_steady(s, reading, polled, w->now_us, w->quiet_us))
        return false;
    s->unsteady_us = s->unsteady_us ? s->unsteady_us : w->now_us;
    if (w->now_us - s->unsteady_us > patience_us)
        return false;
    s->due_us = w->now_us + (polled ? w->quiet_us : again_us);
    return true;
}

static void take_snapshot(struct kb_watch *w, int index)
{
    struct kb_watched *s = w->sources[index];
    const struct kb_tracked *source = &s->tracked[0];
    if (s->plain && (source->open || source->gone)) {
        s->dirty = false; // its close, or the end of the gap, comes back here
        return;
    }
    if (is_being_saved_at_first(w, s))
        return;
    struct kb_reading reading;
    unsigned touches = s->touches;
    kb_watched_read(s, &reading);
    if (is_disturbed(w, s, &reading, touches)) {
        kb_watched_discard(&reading);
        return;
    }
    s->dirty = false;
    s->unsteady_us = 0;
    kb_watched_accept(s, &reading);
    if (reading.status)
        tell_failure(w, index, &reading);
    else
        tell_success(w, index, &reading.snapshot);
    s->loud = s->gap_over = false;
    s->lost = true; // other headers, perhaps
}

static void take_snapshots(struct kb_watch *w)
{
    for (size_t i = 0; i < w->source_count; i++)
        if (w->sources[i] && w->sources[i]->dirty && w->now_us >= w->sources[i]->due_us)
            take_snapshot(w, (int)i);
}

static void process(struct kb_watch *w)
{
    read_notices(w);
    run_safety_net(w);
    find_lost(w);
    run_polls(w);
    for (size_t i = 0; i < w->source_count; i++)
        if (w->sources[i])
            kb_watched_timers(w->sources[i], w->now_us, w->quiet_us, w->poll_us);
    take_snapshots(w); // what it emits goes out before the watches of new headers are set
    for (size_t i = 0; i < w->source_count; i++)
        if (w->sources[i] && kb_watched_is_settled(w->sources[i], w->now_us, w->quiet_us))
            settle(w, (int)i);
}

int kb_watch_wait_ms(const struct kb_watch *w)
{
    if (w->queue_first < w->queue_count)
        return 0;
    int64_t due = w->polling ? INT64_MAX : w->next_safety_us, now = kb_now_us();
    bool any = false, polled = w->polling;
    for (size_t i = 0; i < w->source_count; i++) {
        if (!w->sources[i])
            continue;
        int64_t own = kb_watched_due_us(w->sources[i], w->quiet_us);
        due = own < due ? own : due;
        polled |= w->sources[i]->deaf != NULL;
        any = true;
    }
    if (!any)
        return -1;
    if (polled && w->next_poll_us < due)
        due = w->next_poll_us;
    return due <= now ? 0 : (int)((due - now + 999) / 1000);
}

int kb_watch_next(struct kb_watch *w, struct kb_watch_event *out)
{
    if (w->queue_first == w->queue_count)
        process(w);
    if (w->queue_first == w->queue_count)
        return 0;
    *out = w->queue[w->queue_first++];
    return 1;
}
