#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "loop/history_parts.h"
#include "watch/probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *write_remedy(int error)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT:
        return "free some space on that disk; until then versions are not kept";
    case EROFS:
        return "the disk is mounted read-only: work on a copy of the bench, or go on without history";
    case EACCES:
    case EPERM:
        return "give yourself write permission there, or go on without history";
    default:
        return "versions are not kept until this works again";
    }
}

int kb_history_fail_write(struct kb_error *e, const char *path)
{
    int saved = errno;
    kb_fail(e, path, write_remedy(saved), "the history cannot be written: %s", strerror(saved));
    errno = saved;
    return -1;
}

int kb_history_read(const char *path, size_t limit, char **data, size_t *size, struct kb_error *e)
{
    struct kb_stamp stamp;
    return kb_probe_read(path, limit, data, size, &stamp, e);
}

int kb_history_sync_dir(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    // Some file systems cannot sync a folder and say EINVAL.
    int status = fsync(fd) && errno != EINVAL ? -1 : 0;
    close(fd);
    return status;
}

char *kb_history_temporary(struct kb_history *h, const char *dir, const void *data, size_t size)
{
    char *path = kb_format("%s/.%s-%d-%u.tmp", dir, h->owner, (int)getpid(), h->temporaries++);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    int status = fd < 0 || kb_write_all(fd, data, size) || fsync(fd) ? -1 : 0;
    int saved = errno;
    if (fd >= 0 && close(fd) && !status) {
        saved = errno;
        status = -1;
    }
    if (status) {
        unlink(path);
        free(path);
        path = NULL;
    }
    errno = saved;
    return path;
}

int kb_history_publish(const char *temporary, const char *path)
{
    if (link(temporary, path) == 0) {
        unlink(temporary);
        return 0;
    }
    if (errno == EEXIST)
        return -1;
    // No hard links there (FAT, some shared folders).
    return renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE);
}

int kb_history_replace(struct kb_history *h, const char *dir, const char *name, const void *data, size_t size,
                       struct kb_error *e)
{
    char *path = kb_path_join(dir, name), *temporary = kb_history_temporary(h, dir, data, size);
    int status = temporary && rename(temporary, path) == 0 ? 0 : -1;
    if (status) {
        kb_history_fail_write(e, path);
        if (temporary)
            unlink(temporary);
    } else {
        kb_history_sync_dir(dir);
    }
    free(temporary);
    free(path);
    return status;
}

// Process ids mean nothing on another host or in another container that shares the folder.
static void name_owner(char owner[9])
{
    char host[256] = "";
    struct stat namespace = {0};
    gethostname(host, sizeof host - 1);
    if (stat("/proc/self/ns/pid", &namespace))
    namespace.st_ino = 0;
    char *text = kb_format("%s %llu", host, (unsigned long long)namespace.st_ino);
    struct kb_hash hash = kb_hash_of(text, strlen(text));
    snprintf(owner, 9, "%.8s", hash.hex);
    free(text);
}

static bool is_abandoned(const struct kb_history *h, const char *path, const char *name)
{
    enum { DAY_S = 86400 };
    int pid = 0;
    struct stat info;
    if (lstat(path, &info))
        return false;
    if (time(NULL) - info.st_mtime > DAY_S)
        return true;
    bool is_ours = name[0] == '.' && !strncmp(name + 1, h->owner, 8) && sscanf(name + 9, "-%d-", &pid) == 1;
    return is_ours && pid > 0 && kill(pid, 0) && errno == ESRCH;
}

static void remove_abandoned(const struct kb_history *h, const char *dir, int depth)
{
    DIR *list = opendir(dir);
    if (!list)
        return;
    for (struct dirent *entry; (entry = readdir(list));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        char *path = kb_path_join(dir, entry->d_name);
        if (kb_ends(entry->d_name, ".tmp") && is_abandoned(h, path, entry->d_name))
            unlink(path);
        else if (depth > 0 && entry->d_type == DT_DIR)
            remove_abandoned(h, path, depth - 1);
        free(path);
    }
    closedir(list);
}

static int make_folders(struct kb_history *h, struct kb_error *e)
{
    static const char *const names[] = {"objects", "versions", "sessions"};
    for (size_t i = 0; i < KB_COUNT(names); i++) {
        char *path = kb_path_join(h->dir, names[i]);
        int status = kb_make_dirs(path, NULL);
        if (status)
            kb_history_fail_write(e, path);
        free(path);
        if (status)
            return -1;
    }
    // Whatever is there, every instance may write it again: that shows at once whether the folder can be written.
    if (kb_history_replace(h, h->dir, ".gitignore", "*\n", 2, e))
        return -1;
    remove_abandoned(h, h->dir, 2);
    return 0;
}

int kb_history_open(const char *bench_dir, bool to_write, struct kb_history **out, struct kb_error *e)
{
    struct kb_history *h = kb_alloc(sizeof *h);
    char *clean = kb_path_clean(bench_dir);
    h->dir = kb_path_join(clean, ".kbench");
    h->objects = kb_path_join(h->dir, "objects");
    h->session = -1;
    free(clean);
    name_owner(h->owner);
    if (to_write && make_folders(h, e)) {
        int saved = errno;
        kb_history_close(h);
        *out = NULL;
        errno = saved;
        return -1;
    }
    *out = h;
    return 0;
}

void kb_history_close(struct kb_history *h)
{
    if (!h)
        return;
    if (h->session >= 0)
        close(h->session);
    kb_history_forget(h);
    free(h->dir);
    free(h->objects);
    free(h);
}

const char *kb_history_dir(const struct kb_history *h)
{
    return h->dir;
}

// A process id can come back within a second, and be the same in two containers: then a number is added.
static int open_session(struct kb_history *h, struct kb_error *e)
{
    char stamp[17], *dir = kb_path_join(h->dir, "sessions");
    kb_utc_stamp(stamp);
    kb_make_dirs(dir, NULL);
    for (int attempt = 1; h->session < 0 && attempt < 1000; attempt++) {
        char *path = attempt == 1 ? kb_format("%s/%s-%d.jsonl", dir, stamp, (int)getpid())
                                  : kb_format("%s/%s-%d-%d.jsonl", dir, stamp, (int)getpid(), attempt);
        h->session = open(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        bool is_taken = h->session < 0 && errno == EEXIST;
        if (h->session < 0 && !is_taken)
            kb_history_fail_write(e, path);
        free(path);
        if (!is_taken)
            break;
    }
    free(dir);
    return h->session < 0 ? -1 : 0;
}

int kb_history_session_line(struct kb_history *h, const char *line, struct kb_error *e)
{
    struct stat info;
    if (h->session >= 0 && (fstat(h->session, &info) || info.st_nlink == 0)) { // somebody removed the folder
        close(h->session);
        h->session = -1;
    }
    if (h->session < 0 && open_session(h, e))
        return -1;
    char *whole = kb_format("%s\n", line);
    size_t size = strlen(whole);
    off_t before = lseek(h->session, 0, SEEK_END);
    ssize_t written;
    do
        written = write(h->session, whole, size);
    while (written < 0 && errno == EINTR);
    free(whole);
    if (written == (ssize_t)size)
        return 0;
    int saved = written < 0 ? errno : ENOSPC;
    if (written > 0 && before >= 0 && ftruncate(h->session, before))
        saved = errno;
    errno = saved;
    return kb_history_fail_write(e, h->dir);
}

char *kb_history_errors_text(const struct kb_history_message *messages, int count)
{
    struct kb_text out = {0};
    for (int i = 0; i < count; i++) {
        const struct kb_history_message *m = &messages[i];
        char *text = kb_cleaned(m->text ? m->text : "");
        kb_text_addf(&out, "%s:%d:%d: %s: %s\n", m->file, m->line > 0 ? m->line : 1, m->column > 0 ? m->column : 1,
                     m->severity, text);
        free(text);
    }
    return kb_text_take(&out);
}

int kb_history_write_errors(struct kb_history *h, const char *text, struct kb_error *e)
{
    return kb_history_replace(h, h->dir, "errors.txt", text, strlen(text), e);
}

int kb_history_write_seeds(struct kb_history *h, const char *text, struct kb_error *e)
{
    return kb_history_replace(h, h->dir, KB_HISTORY_SEEDS, text, strlen(text), e);
}
