#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_all(int fd, size_t limit, char **data, size_t *size)
{
    size_t used = 0, capacity = 1 << 14;
    char *buffer = kb_alloc(capacity + 1);
    for (;;) {
        ssize_t n = read(fd, buffer + used, capacity - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || used + (size_t)n > limit) {
            if (n >= 0)
                errno = EFBIG;
            free(buffer);
            return -1;
        }
        if (n == 0)
            break;
        used += (size_t)n;
        if (used == capacity)
            buffer = kb_realloc(buffer, (capacity *= 2) + 1);
    }
    buffer[used] = 0;
    *data = buffer;
    *size = used;
    return 0;
}

int kb_file_read(const char *path, size_t limit, char **data, size_t *size, struct kb_error *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct stat info;
    int ok = fd >= 0 && fstat(fd, &info) == 0;
    if (ok && S_ISDIR(info.st_mode)) {
        errno = EISDIR;
        ok = 0;
    }
    ok = ok && read_all(fd, limit, data, size) == 0;
    int saved = errno;
    if (fd >= 0)
        close(fd);
    if (ok)
        return 0;
    kb_fail(e, path, saved == EFBIG ? "it is not a source file of a sane size" : NULL, "cannot read: %s",
            strerror(saved));
    errno = saved;
    return -1;
}

int kb_write_all(int fd, const void *bytes, size_t size)
{
    const char *data = bytes;
    while (size) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

int kb_file_replace(const char *path, const void *data, size_t size, struct kb_error *e)
{
    static atomic_uint count; // two threads may replace one file
    char *temporary = kb_format("%s.%d-%u.tmp", path, (int)getpid(), atomic_fetch_add(&count, 1));
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    int status = fd < 0 ? -1 : 0;
    if (!status && (kb_write_all(fd, data, size) || fsync(fd)))
        status = -1;
    int saved = errno;
    if (fd >= 0 && close(fd) && !status) {
        saved = errno;
        status = -1;
    }
    if (!status && rename(temporary, path)) {
        saved = errno;
        status = -1;
    }
    if (status) {
        kb_fail(e, path, saved == ENOSPC ? "free some space on that disk" : NULL, "cannot write: %s", strerror(saved));
        unlink(temporary);
    }
    free(temporary);
    return status;
}

int kb_file_create(const char *path, const void *data, size_t size, struct kb_error *e)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) {
        int saved = errno;
        kb_fail(e, path, NULL, "cannot write: %s", strerror(saved));
        errno = saved;
        return -1;
    }
    int status = kb_write_all(fd, data, size) || fsync(fd) ? -1 : 0, saved = errno;
    if (close(fd) && !status) {
        saved = errno;
        status = -1;
    }
    if (status) {
        kb_fail(e, path, saved == ENOSPC ? "free some space on that disk" : NULL, "cannot write: %s", strerror(saved));
        unlink(path);
    }
    errno = saved;
    return status;
}

int kb_make_dirs(const char *path, struct kb_error *e)
{
    if (!path[0])
        return kb_fail(e, NULL, NULL, "cannot create a folder without a name");
    char *copy = kb_strdup(path);
    int status = 0;
    for (char *p = copy + 1; !status; p++) {
        if (*p != '/' && *p)
            continue;
        char old = *p;
        *p = 0;
        if (mkdir(copy, 0755) && errno != EEXIST)
            status = kb_fail(e, copy, NULL, "cannot create the folder: %s", strerror(errno));
        *p = old;
        if (!old)
            break;
    }
    if (!status && !kb_is_dir(path))
        status = kb_fail(e, path, NULL, "is no folder");
    free(copy);
    return status;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
    (void)info, (void)type, (void)ftw;
    return remove(path);
}

int kb_remove_tree(const char *path)
{
    return nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) && errno != ENOENT ? -1 : 0;
}

bool kb_is_dir(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool kb_is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

char *kb_path_join(const char *dir, const char *name)
{
    if (name[0] == '/' || !dir[0])
        return kb_strdup(name);
    return kb_format("%s%s%s", dir, kb_ends(dir, "/") ? "" : "/", name);
}

char *kb_path_dir(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return kb_strdup(".");
    return slash == path ? kb_strdup("/") : kb_strndup(path, (size_t)(slash - path));
}

const char *kb_path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *kb_path_clean(const char *path)
{
    char *absolute = NULL;
    if (path[0] != '/') {
        char *here = getcwd(NULL, 0);
        absolute = kb_path_join(here ? here : "/", path);
        free(here);
    } else {
        absolute = kb_strdup(path);
    }
    char *out = kb_alloc(strlen(absolute) + 2), *end = out, *rest = NULL;
    for (char *part = strtok_r(absolute, "/", &rest); part; part = strtok_r(NULL, "/", &rest)) {
        if (!strcmp(part, "."))
            continue;
        if (!strcmp(part, "..")) {
            while (end > out && *--end != '/')
                ;
            *end = 0;
            continue;
        }
        *end++ = '/';
        end = stpcpy(end, part);
    }
    if (end == out)
        strcpy(out, "/");
    free(absolute);
    return out;
}

char *kb_path_relative(const char *dir, const char *path)
{
    size_t n = strlen(dir);
    if (n == 1)
        return kb_strdup(path + (path[0] == '/'));
    if (kb_starts(path, dir) && path[n] == '/')
        return kb_strdup(path + n + 1);
    return kb_strdup(path);
}

char *kb_path_between(const char *dir, const char *path)
{
    struct kb_text out = {0};
    size_t shared = 0; // bytes of whole components that both have
    for (size_t i = 0;; i++) {
        bool ends = (!dir[i] || dir[i] == '/') && (!path[i] || path[i] == '/');
        shared = ends ? i : shared;
        if (!dir[i] || dir[i] != path[i])
            break;
    }
    for (const char *p = dir + shared; *p; p++)
        if (*p == '/' && p[1])
            kb_text_add(&out, out.size ? "/.." : "..");
    const char *rest = path + shared + (path[shared] == '/');
    if (*rest)
        kb_text_addf(&out, "%s%s", out.size ? "/" : "", rest);
    return out.size ? kb_text_take(&out) : kb_strdup(".");
}

char *kb_state_dir(void)
{
    const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    return xdg && xdg[0] == '/'     ? kb_path_join(xdg, "kbench")
           : home && home[0] == '/' ? kb_path_join(home, ".local/state/kbench")
                                    : NULL;
}

char *kb_cache_dir(void)
{
    const char *own = getenv("KB_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *path = own && *own              ? kb_strdup(own)
                 : xdg && xdg[0] == '/'   ? kb_path_join(xdg, "kbench")
                 : home && home[0] == '/' ? kb_path_join(home, ".cache/kbench")
                                          : NULL;
    if (path && kb_make_dirs(path, NULL)) {
        free(path);
        path = NULL;
    }
    return path;
}
