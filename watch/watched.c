#include "watch/watched.h"
#include "base/file.h"
#include "base/memory.h"
#include "watch/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// A file found empty has probably been truncated by a writer that nobody can ask about.
static const int64_t empty_wait_us = 2000000;
// A file that stays open but is not written any more does not keep the rest from being final.
static const int64_t idle_writer_us = 2000000;

static const char *const *copy_texts(char **to, const char *const *from, int count)
{
    for (int i = 0; i < count; i++)
        to[i] = kb_strdup(from[i]);
    return (const char *const *)to;
}

static void copy_reach(struct kb_watched *s, const struct kb_reach *r)
{
    int count = r->include_dir_count + r->option_count + r->define_count;
    char **to = s->reach_texts = kb_alloc(((size_t)count + 1) * sizeof *to);
    s->reach = *r;
    s->reach.include_dirs = copy_texts(to, r->include_dirs, r->include_dir_count);
    s->reach.options = copy_texts(to += r->include_dir_count, r->options, r->option_count);
    s->reach.defines = copy_texts(to + r->option_count, r->defines, r->define_count);
}

struct kb_watched *kb_watched_new(const char *path, const struct kb_reach *reach, bool plain)
{
    struct kb_watched *s = kb_alloc(sizeof *s);
    s->path = kb_path_clean(path);
    s->plain = plain;
    if (reach)
        copy_reach(s, reach);
    kb_pathset_add(&s->names, s->path, NULL);
    s->tracked = kb_alloc(sizeof *s->tracked);
    s->lost = s->dirty = true;
    return s;
}

void kb_watched_free(struct kb_watched *s)
{
    if (!s)
        return;
    kb_watched_drop_interests(s);
    free(s->interests);
    for (size_t i = 0; i < s->names.count; i++)
        free(s->tracked[i].data);
    free(s->tracked);
    kb_pathset_free(&s->names);
    for (int i = 0; s->reach_texts && s->reach_texts[i]; i++)
        free(s->reach_texts[i]);
    free(s->reach_texts);
    free(s->path);
    free(s->deaf);
    free(s);
}

void kb_watched_dirty(struct kb_watched *s, int64_t now_us, bool loud)
{
    s->dirty = true;
    s->loud |= loud;
    s->dirty_us = now_us;
    s->due_us = now_us;
}

static void touched(struct kb_watched *s, int64_t now_us)
{
    s->touches++;
    s->event_us = now_us;
}

void kb_watched_saved(struct kb_watched *s, int tracked, int64_t now_us, bool loud)
{
    struct kb_tracked *t = &s->tracked[tracked];
    t->open = t->scanned = t->gone = false;
    touched(s, now_us);
    kb_watched_dirty(s, now_us, loud);
}

void kb_watched_writing(struct kb_watched *s, int tracked, int64_t now_us, bool scanned, int64_t quiet_us)
{
    struct kb_tracked *t = &s->tracked[tracked];
    t->open = true;
    t->scanned = scanned;
    t->gone = false;
    t->open_us = now_us;
    t->check_us = now_us + quiet_us;
    touched(s, now_us);
}

void kb_watched_vanished(struct kb_watched *s, int tracked, int64_t now_us)
{
    struct kb_tracked *t = &s->tracked[tracked];
    t->open = t->scanned = false;
    if (!t->gone)
        t->gone_us = now_us;
    t->gone = true;
    touched(s, now_us);
}

static bool content_differs(const struct kb_tracked *t, const char *path)
{
    char *data = NULL;
    size_t size = 0;
    struct kb_stamp stamp;
    if (!t->data || kb_probe_read(path, t->size + 1, &data, &size, &stamp, NULL))
        return t->data && errno == EFBIG;
    bool differs = size != t->size || memcmp(data, t->data, size);
    free(data);
    return differs;
}

static void look_at(struct kb_watched *s, int tracked, const struct kb_look *look)
{
    struct kb_tracked *t = &s->tracked[tracked];
    const char *path = s->names.paths[tracked];
    if (t->open && !t->scanned)
        return; // its close event will come
    struct kb_stamp now = kb_stamp_of(path, look->reopen);
    bool same_content = kb_stamp_same_content(&t->stamp, &now);
    if (kb_stamp_same(&t->stamp, &now) &&
        (t->gone || t->open || !look->contents || !kb_stamp_is_recent(&now) || !content_differs(t, path)))
        return;
    t->stamp = now;
    if (!now.exists) {
        if (t->in_snapshot || tracked == 0)
            kb_watched_vanished(s, tracked, look->now_us);
        return;
    }
    if (now.regular && kb_writer_of(path) != KB_WRITER_NONE)
        kb_watched_writing(s, tracked, look->now_us, true, look->quiet_us);
    else
        kb_watched_saved(s, tracked, look->now_us, look->loud && !same_content);
}

void kb_watched_look(struct kb_watched *s, const struct kb_look *look)
{
    for (size_t i = 0; i < s->names.count; i++)
        look_at(s, (int)i, look);
}

// No event has come from an open file for a while: it may have been closed where nobody told, or never been open at
// all (linked into place, made by mknod).
static void check_writer(struct kb_watched *s, int tracked, int64_t now_us, int64_t quiet_us, int64_t poll_us)
{
    struct kb_tracked *t = &s->tracked[tracked];
    const char *path = s->names.paths[tracked];
    struct kb_stamp now = kb_stamp_of(path, t->scanned);
    if (!now.exists) {
        kb_watched_vanished(s, tracked, now_us);
        return;
    }
    if (t->scanned && !kb_stamp_same(&now, &t->stamp)) {
        t->stamp = now;
        kb_watched_writing(s, tracked, now_us, true, quiet_us);
        return;
    }
    enum kb_writer writer = now.regular ? kb_writer_of(path) : KB_WRITER_NONE;
    int64_t patience = now.size ? poll_us : empty_wait_us;
    bool is_over =
        writer == KB_WRITER_NONE || (writer == KB_WRITER_UNKNOWN && t->scanned && now_us - t->open_us >= patience);
    if (is_over)
        kb_watched_saved(s, tracked, now_us, true);
    else
        t->check_us = now_us + (t->scanned ? poll_us : idle_writer_us);
}

void kb_watched_timers(struct kb_watched *s, int64_t now_us, int64_t quiet_us, int64_t poll_us)
{
    for (size_t i = 0; i < s->names.count; i++) {
        struct kb_tracked *t = &s->tracked[i];
        if (t->open && now_us >= t->check_us)
            check_writer(s, (int)i, now_us, quiet_us, poll_us);
        if (!t->gone || now_us - t->gone_us < quiet_us)
            continue;
        t->gone = false;
        free(t->data);
        t->data = NULL;
        if (i == 0)
            s->gap_over = true;
        if (i == 0 || t->in_snapshot)
            kb_watched_dirty(s, t->gone_us, true);
    }
}

int64_t kb_watched_due_us(const struct kb_watched *s, int64_t quiet_us)
{
    int64_t due = s->lost ? 0 : s->dirty ? s->due_us : INT64_MAX, settled = s->event_us + quiet_us;
    for (size_t i = 0; i < s->names.count; i++) {
        const struct kb_tracked *t = &s->tracked[i];
        int64_t own = t->open ? t->check_us : t->gone ? t->gone_us + quiet_us : INT64_MAX;
        due = own < due ? own : due;
        if (t->open && t->open_us + idle_writer_us > settled)
            settled = t->open_us + idle_writer_us;
    }
    return s->unsettled && !s->dirty && settled < due ? settled : due;
}

bool kb_watched_is_settled(const struct kb_watched *s, int64_t now_us, int64_t quiet_us)
{
    if (!s->unsettled || s->dirty || s->lost || now_us - s->event_us < quiet_us)
        return false;
    for (size_t i = 0; i < s->names.count; i++) {
        const struct kb_tracked *t = &s->tracked[i];
        if (t->gone || (t->open && now_us - t->open_us < idle_writer_us))
            return false;
    }
    return true;
}

struct reading_context {
    struct kb_watched *source;
    struct kb_reading *reading;
};

static void remember_stamp(struct kb_reading *r, const char *path, struct kb_stamp stamp)
{
    size_t index = kb_pathset_add(&r->read, path, NULL);
    KB_GROW(r->stamps, index, r->capacity);
    r->stamps[index] = stamp;
}

static int read_tracked(void *context, const char *path, size_t limit, char **data, size_t *size, struct kb_error *e)
{
    struct reading_context *c = context;
    ptrdiff_t index = kb_pathset_find(&c->source->names, path);
    const struct kb_tracked *t = index < 0 ? NULL : &c->source->tracked[index];
    struct kb_stamp stamp;
    if (t && (t->open || t->gone) && c->source->state != KB_WATCHED_FRESH) {
        remember_stamp(c->reading, path, t->stamp);
        errno = t->data && t->size > limit ? EFBIG : ENOENT;
        if (!t->data || t->size > limit)
            return kb_fail(e, path, NULL, "is being written");
        *data = kb_alloc(t->size + 1);
        memcpy(*data, t->data, t->size);
        *size = t->size;
        return 0;
    }
    int status = kb_probe_read(path, limit, data, size, &stamp, e);
    int saved = errno;
    remember_stamp(c->reading, path, stamp);
    errno = saved;
    return status;
}

void kb_watched_read(struct kb_watched *s, struct kb_reading *reading)
{
    *reading = (struct kb_reading){0};
    struct reading_context context = {s, reading};
    struct kb_snapshot_request request = {
        .main_path = s->path, .reach = &s->reach, .plain = s->plain, .reader = {read_tracked, &context}};
    reading->status = kb_snapshot_read(&request, &reading->snapshot, &reading->error);
    reading->error_number = errno;
}

bool kb_watched_is_steady(struct kb_watched *s, const struct kb_reading *reading, bool polled, int64_t now_us,
                          int64_t quiet_us)
{
    bool steady = true;
    for (size_t i = 0; i < reading->read.count; i++) {
        const char *path = reading->read.paths[i];
        const struct kb_stamp *before = &reading->stamps[i];
        ptrdiff_t index = kb_pathset_find(&s->names, path);
        bool is_stand_in = index >= 0 && (s->tracked[index].open || s->tracked[index].gone);
        if (is_stand_in || !before->regular || !kb_stamp_is_recent(before))
            continue;
        struct kb_stamp now = kb_stamp_of(path, polled);
        // Between the making of a file and its opening nobody has it open: an empty one is not believed at once.
        if (kb_stamp_same_content(before, &now) && now.size && kb_writer_of(path) != KB_WRITER_OPEN)
            continue;
        steady = false;
        if (polled && index >= 0) {
            s->tracked[index].stamp = now;
            kb_watched_writing(s, (int)index, now_us, true, quiet_us);
        }
    }
    return steady;
}

static void free_stamps(struct kb_reading *r)
{
    kb_pathset_free(&r->read);
    free(r->stamps);
}

void kb_watched_discard(struct kb_reading *reading)
{
    if (!reading->status)
        kb_snapshot_free(&reading->snapshot);
    free_stamps(reading);
}

// The same file in the new table: what is happening to it goes on.
static struct kb_tracked carry_over(const struct kb_watched *s, const struct kb_reading *r, const char *path)
{
    struct kb_tracked t = {0};
    ptrdiff_t before = kb_pathset_find(&s->names, path), asked = kb_pathset_find(&r->read, path);
    if (before >= 0)
        t = s->tracked[before];
    t.data = NULL;
    t.size = 0;
    t.in_snapshot = false;
    if (asked >= 0)
        t.stamp = r->stamps[asked];
    return t;
}

static void accept_failure(struct kb_watched *s, struct kb_reading *r)
{
    ptrdiff_t asked = kb_pathset_find(&r->read, s->path);
    if (asked >= 0)
        s->tracked[0].stamp = r->stamps[asked];
    free_stamps(r);
}

// Interests are found anew later; until then events still come in by the old ones.
static void renumber_interests(struct kb_watched *s, const struct kb_pathset *names)
{
    for (size_t i = 0; i < s->interest_count; i++) {
        struct kb_interest *interest = &s->interests[i];
        if (interest->tracked >= 0)
            interest->tracked = (int)kb_pathset_find(names, s->names.paths[interest->tracked]);
    }
}

void kb_watched_accept(struct kb_watched *s, struct kb_reading *r)
{
    if (r->status) {
        accept_failure(s, r);
        return;
    }
    const struct kb_snapshot *snapshot = &r->snapshot;
    size_t most = (size_t)snapshot->file_count + (size_t)snapshot->missing_count, count = 0;
    struct kb_tracked *tracked = kb_alloc(most * sizeof *tracked);
    struct kb_pathset names = {0};
    for (int i = 0; i < snapshot->file_count; i++) {
        const struct kb_snapshot_file *file = &snapshot->files[i];
        struct kb_tracked *t = &tracked[count++];
        kb_pathset_add(&names, file->path, NULL);
        *t = carry_over(s, r, file->path);
        t->in_snapshot = true;
        if (s->plain)
            continue;
        t->size = file->size;
        t->data = kb_alloc(file->size + 1);
        memcpy(t->data, file->data, file->size);
    }
    for (int i = 0; i < snapshot->missing_count; i++) {
        kb_pathset_add(&names, snapshot->missing[i], NULL);
        tracked[count++] = carry_over(s, r, snapshot->missing[i]);
    }
    renumber_interests(s, &names);
    for (size_t i = 0; i < s->names.count; i++)
        free(s->tracked[i].data);
    free(s->tracked);
    kb_pathset_free(&s->names);
    s->tracked = tracked;
    s->names = names;
    free_stamps(r);
}
