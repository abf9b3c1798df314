#include "watch/probe.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

static int64_t nanoseconds(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct kb_stamp from_stat(const struct stat *info)
{
    return (struct kb_stamp){.exists = true,
                             .regular = S_ISREG(info->st_mode),
                             .device = info->st_dev,
                             .inode = info->st_ino,
                             .size = (uint64_t)info->st_size,
                             .modified_ns = nanoseconds(info->st_mtim),
                             .changed_ns = nanoseconds(info->st_ctim)};
}

// Opens only what stat() calls a regular file; O_NONBLOCK for the case that it is swapped for a FIFO in between.
static int open_regular(const char *path, struct stat *info)
{
    if (stat(path, info))
        return -1;
    if (!S_ISREG(info->st_mode)) {
        errno = S_ISDIR(info->st_mode) ? EISDIR : ENOTSUP;
        return -1;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return -1;
    if (fstat(fd, info) == 0 && S_ISREG(info->st_mode))
        return fd;
    close(fd);
    errno = ENOTSUP;
    return -1;
}

struct kb_stamp kb_stamp_of(const char *path, bool reopen)
{
    struct stat info;
    if (stat(path, &info))
        return (struct kb_stamp){0};
    if (reopen && S_ISREG(info.st_mode)) {
        int fd = open_regular(path, &info);
        if (fd >= 0)
            close(fd);
        else if (stat(path, &info))
            return (struct kb_stamp){0};
    }
    return from_stat(&info);
}

bool kb_stamp_same_content(const struct kb_stamp *a, const struct kb_stamp *b)
{
    if (!a->exists || !b->exists)
        return a->exists == b->exists;
    return a->regular == b->regular && a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->modified_ns == b->modified_ns;
}

bool kb_stamp_same(const struct kb_stamp *a, const struct kb_stamp *b)
{
    return kb_stamp_same_content(a, b) && a->changed_ns == b->changed_ns;
}

bool kb_stamp_is_recent(const struct kb_stamp *s)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t age = nanoseconds(now) - s->modified_ns;
    return s->exists && age > -2500000000 && age < 2500000000;
}

static int read_to_end(int fd, size_t limit, size_t guess, char **data, size_t *size)
{
    size_t used = 0, capacity = guess + 1;
    char *buffer = kb_realloc(NULL, capacity + 1);
    for (;;) {
        ssize_t n = read(fd, buffer + used, capacity - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || used + (size_t)n > limit) {
            int saved = n < 0 ? errno : EFBIG;
            free(buffer);
            errno = saved;
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

// Once; a write in the middle shows as another stamp afterwards.
static int read_once(const char *path, size_t limit, char **data, size_t *size, struct kb_stamp *stamp, bool *torn)
{
    struct stat before, after;
    int fd = open_regular(path, &before);
    if (fd < 0) {
        int saved = errno;
        *stamp = kb_stamp_of(path, false);
        errno = saved;
        return -1;
    }
    *stamp = from_stat(&before);
    int status = -1;
    if ((uint64_t)before.st_size > limit)
        errno = EFBIG;
    else
        status = read_to_end(fd, limit, (size_t)before.st_size, data, size);
    int saved = errno;
    struct kb_stamp behind = {0};
    if (fstat(fd, &after) == 0)
        behind = from_stat(&after);
    *torn = !kb_stamp_same_content(stamp, &behind);
    close(fd);
    errno = saved;
    return status;
}

static const char *read_failure(int error)
{
    return error == EISDIR    ? "it is a folder"
           : error == ENOTSUP ? "it is no regular file (a FIFO, socket or device)"
           : error == EFBIG   ? "it is too large"
                              : strerror(error);
}

int kb_probe_read(const char *path, size_t limit, char **data, size_t *size, struct kb_stamp *stamp, struct kb_error *e)
{
    bool torn = false;
    int status = -1;
    for (int attempt = 0; attempt < 4; attempt++) {
        status = read_once(path, limit, data, size, stamp, &torn);
        bool again = status ? errno == ESTALE : torn && attempt < 3;
        if (!again)
            break;
        if (!status)
            free(*data);
    }
    if (!status)
        return 0;
    int saved = errno;
    if (saved == EFBIG)
        kb_fail(e, path, NULL, "cannot read: it holds more than %zu MiB", limit >> 20);
    else
        kb_fail(e, path, saved == EACCES ? "give yourself read permission (chmod u+r)" : NULL, "cannot read: %s",
                read_failure(saved));
    errno = saved;
    return -1;
}

bool kb_is_absence(int error)
{
    return error == ENOENT || error == ENOTDIR || error == ELOOP || error == ENAMETOOLONG;
}

enum kb_writer kb_writer_of(const char *path)
{
    struct stat info;
    int fd = open_regular(path, &info);
    if (fd < 0)
        return KB_WRITER_UNKNOWN;
    // A writer that comes while the lease is held would have us signalled; SIGURG is ignored where SIGIO would kill.
    enum kb_writer answer = KB_WRITER_UNKNOWN;
    if (fcntl(fd, F_SETSIG, SIGURG) == 0) {
        if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
            answer = KB_WRITER_NONE;
            fcntl(fd, F_SETLEASE, F_UNLCK);
        } else if (errno == EAGAIN) {
            answer = KB_WRITER_OPEN;
        }
    }
    close(fd);
    return answer;
}

// f_type of statfs(2): from linux/magic.h and the file systems' own sources. Changes made by another machine (or by
// the host of a virtual one) cause no event on these.
static const struct {
    unsigned magic;
    const char *name;
} remote_mounts[] = {
    {0x6969, "NFS"},        {0x517b, "SMB"},        {0xff534d42, "CIFS"},   {0xfe534d42, "SMB2"},
    {0x65735546, "FUSE"},   {0x01021997, "9p"},     {0x786f4256, "vboxsf"}, {0x6a656a63, "virtiofs"},
    {0xbacbacbc, "vmhgfs"}, {0x7c7c6673, "prl_fs"}, {0x5346414f, "AFS"},    {0x6b414653, "AFS"},
    {0x73757245, "Coda"},   {0x00c36400, "Ceph"},   {0x47504653, "GPFS"},   {0x0bd00bd0, "Lustre"},
    {0x19830326, "BeeGFS"}, {0x7461636f, "OCFS2"},  {0x01161970, "GFS2"},   {0x53464846, "WSL drvfs"},
    {0x61756673, "aufs"},   {0x564c, "NCP"},        {0xaad7aaea, "PanFS"},  {0x20030528, "OrangeFS"},
};

const char *kb_mount_without_events(const char *path)
{
    struct statfs info;
    if (statfs(path, &info))
        return NULL;
    for (size_t i = 0; i < KB_COUNT(remote_mounts); i++)
        if ((unsigned)info.f_type == remote_mounts[i].magic)
            return remote_mounts[i].name;
    return NULL;
}

bool kb_is_mounted_file(const char *path)
{
    struct statx info = {0};
    return !statx(AT_FDCWD, path, 0, STATX_TYPE, &info) && S_ISREG(info.stx_mode) &&
           (info.stx_attributes_mask & info.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}
