#include "watch/inotify.h"
#include "base/file.h"
#include "base/memory.h"
#include "watch/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint32_t watched_events = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE |
                                       IN_MODIFY | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR |
                                       IN_EXCL_UNLINK;

const struct kb_inotify_calls kb_inotify_system = {inotify_init1, inotify_add_watch, inotify_rm_watch, read};
static const struct kb_inotify_calls *current_calls = &kb_inotify_system;

void kb_inotify_use(const struct kb_inotify_calls *calls)
{
    current_calls = calls ? calls : &kb_inotify_system;
}

static long read_limit(const char *name)
{
    char *path = kb_format("/proc/sys/fs/inotify/%s", name), *text = NULL;
    size_t size = 0;
    long value = kb_file_read(path, 64, &text, &size, NULL) ? -1 : strtol(text, NULL, 10);
    free(path);
    free(text);
    return value;
}

static int fail_limit(struct kb_error *e, const char *limit, const char *counted, int error)
{
    long value = read_limit(limit);
    char *remedy = kb_format("sudo sysctl fs.inotify.%s=%ld", limit, value > 0 ? value * 4 : 524288);
    char *allowed = value < 0 ? kb_strdup("") : kb_format(" of %ld", value);
    kb_fail(e, NULL, remedy, "the per-user limit%s %s (%s) is used up", allowed, counted, limit);
    free(remedy);
    free(allowed);
    errno = error;
    return -1;
}

// EMFILE has two meanings; only one of them also hits a plain open.
static bool is_out_of_descriptors(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == EMFILE || errno == ENFILE;
    close(fd);
    return false;
}

int kb_notifier_open(struct kb_notifier *n, struct kb_error *e)
{
    *n = (struct kb_notifier){.calls = current_calls};
    n->fd = n->calls->init(IN_NONBLOCK | IN_CLOEXEC);
    if (n->fd >= 0)
        return 0;
    int saved = errno;
    if (saved == EMFILE && !is_out_of_descriptors())
        return fail_limit(e, "max_user_instances", "inotify instances", saved);
    kb_fail(e, NULL, saved == EMFILE || saved == ENFILE ? "ulimit -n 4096" : NULL, "inotify does not start: %s",
            strerror(saved));
    errno = saved;
    return -1;
}

static void forget_dir(struct kb_notifier_dir *dir)
{
    free(dir->path);
    free(dir->deaf);
    *dir = (struct kb_notifier_dir){.wd = -1};
}

void kb_notifier_close(struct kb_notifier *n)
{
    if (n->fd >= 0)
        close(n->fd);
    for (size_t i = 0; i < n->dir_count; i++)
        forget_dir(&n->dirs[i]);
    free(n->dirs);
    *n = (struct kb_notifier){.fd = -1};
}

void kb_notifier_begin(struct kb_notifier *n)
{
    for (size_t i = 0; i < n->dir_count; i++)
        n->dirs[i].wanted = false;
}

static int place_of(struct kb_notifier *n, const char *path)
{
    int hole = -1;
    for (size_t i = 0; i < n->dir_count; i++) {
        if (n->dirs[i].path && !strcmp(n->dirs[i].path, path))
            return (int)i;
        if (!n->dirs[i].path && hole < 0)
            hole = (int)i;
    }
    if (hole < 0) {
        KB_GROW(n->dirs, n->dir_count, n->dir_capacity);
        hole = (int)n->dir_count++;
    }
    n->dirs[hole] = (struct kb_notifier_dir){.path = kb_strdup(path), .wd = -1};
    return hole;
}

static void note_identity(struct kb_notifier_dir *dir)
{
    struct kb_stamp stamp = kb_stamp_of(dir->path, false);
    dir->device = stamp.device;
    dir->inode = stamp.inode;
}

int kb_notifier_want(struct kb_notifier *n, const char *path, bool *added, struct kb_error *e)
{
    int index = place_of(n, path);
    struct kb_notifier_dir *dir = &n->dirs[index];
    dir->wanted = true;
    if (dir->wd >= 0)
        return index;
    note_identity(dir);
    dir->wd = n->calls->add(n->fd, path, watched_events);
    free(dir->deaf);
    dir->deaf = NULL;
    if (dir->wd < 0) {
        if (errno == ENOSPC)
            return fail_limit(e, "max_user_watches", "watched folders", ENOSPC);
        if (errno == ENOMEM)
            return kb_fail(e, path, NULL, "the kernel has no memory left for inotify");
        if (kb_is_absence(errno))
            n->vanished = true;
        else
            dir->deaf = kb_strdup(strerror(errno));
        return index;
    }
    *added = true;
    dir->deaf = kb_strdup(kb_mount_without_events(path));
    return index;
}

static bool wd_is_used(const struct kb_notifier *n, int wd)
{
    for (size_t i = 0; i < n->dir_count; i++)
        if (n->dirs[i].path && n->dirs[i].wd == wd)
            return true;
    return false;
}

// Two paths can be one folder, and then share a watch.
static void drop(struct kb_notifier *n, struct kb_notifier_dir *dir)
{
    int wd = dir->wd;
    forget_dir(dir);
    if (wd >= 0 && !wd_is_used(n, wd))
        n->calls->remove(n->fd, wd);
}

void kb_notifier_end(struct kb_notifier *n)
{
    for (size_t i = 0; i < n->dir_count; i++)
        if (n->dirs[i].path && !n->dirs[i].wanted)
            drop(n, &n->dirs[i]);
}

bool kb_notifier_in_place(struct kb_notifier *n)
{
    bool in_place = true;
    for (size_t i = 0; i < n->dir_count; i++) {
        struct kb_notifier_dir *dir = &n->dirs[i];
        if (!dir->path || dir->wd < 0)
            continue;
        struct kb_stamp now = kb_stamp_of(dir->path, false);
        if (now.exists && now.device == dir->device && now.inode == dir->inode)
            continue;
        drop(n, dir);
        in_place = false;
    }
    return in_place;
}

static int deliver(struct kb_notifier *n, const struct inotify_event *event,
                   void (*take)(void *, const struct kb_notice *), void *context)
{
    if (event->mask & IN_Q_OVERFLOW) {
        take(context, &(struct kb_notice){.dir = -1, .mask = event->mask});
        return 1;
    }
    bool is_lost = event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT);
    int count = 0;
    for (size_t i = 0; i < n->dir_count; i++) {
        if (!n->dirs[i].path || n->dirs[i].wd != event->wd)
            continue;
        if (is_lost) {
            if (event->mask & IN_MOVE_SELF)
                n->calls->remove(n->fd, event->wd);
            n->dirs[i].wd = -1;
        } else if (!event->len) {
            continue;
        }
        take(context, &(struct kb_notice){(int)i, is_lost ? NULL : event->name, event->mask});
        count++;
    }
    return count;
}

int kb_notifier_read(struct kb_notifier *n, void (*take)(void *context, const struct kb_notice *notice), void *context)
{
    char buffer[1 << 14] __attribute__((aligned(__alignof__(struct inotify_event))));
    int count = 0;
    for (int reads = 0; reads < 64; reads++) {
        ssize_t size = n->calls->read(n->fd, buffer, sizeof buffer);
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            break;
        for (char *at = buffer; at < buffer + size;) {
            const struct inotify_event *event = (const struct inotify_event *)(const void *)at;
            count += deliver(n, event, take, context);
            at += sizeof *event + event->len;
        }
    }
    return count;
}
