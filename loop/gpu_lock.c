#include "loop/gpu_lock.h"
#include "base/file.h"
#include "base/memory.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static char *lock_path(const char *uuid)
{
    const char *run = getenv("XDG_RUNTIME_DIR");
    char *name = kb_format("kbench-%s.lock", uuid);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '.')
            *c = '_';
    const char *temporary = getenv("TMPDIR");
    char *path = kb_path_join(run && kb_is_dir(run) ? run : temporary && *temporary ? temporary : "/tmp", name);
    free(name);
    return path;
}

int kb_gpu_lock_open(struct kb_gpu_lock *lock, const char *uuid, struct kb_error *e)
{
    kb_gpu_lock_close(lock);
    if (!uuid || !*uuid)
        return kb_fail(e, NULL, NULL, "the GPU gave no UUID");
    char *path = lock_path(uuid);
    // Another user's file in a sticky folder opens only without O_CREAT.
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT) {
        fd = open(path, O_RDWR | O_CLOEXEC | O_CREAT | O_NOFOLLOW, 0666);
        if (fd >= 0 && fchmod(fd, 0666)) { // the mask must not lock other users out; a failure only does that
            close(fd);
            fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        }
    }
    if (fd < 0) {
        kb_fail(e, path, "remove the file, or give its user's permission", "cannot open the GPU's lock: %s",
                strerror(errno));
        free(path);
        return -1;
    }
    *lock = (struct kb_gpu_lock){.path = path, .fd = fd};
    return 0;
}

bool kb_gpu_lock_try(struct kb_gpu_lock *lock)
{
    if (!lock->path || lock->held)
        return true;
    if (flock(lock->fd, LOCK_EX | LOCK_NB))
        return errno != EWOULDBLOCK && errno != EINTR;
    lock->held = true;
    char pid[16];
    int n = snprintf(pid, sizeof pid, "%-10d\n", (int)getpid());
    if (pwrite(lock->fd, pid, (size_t)n, 0) < 0)
        return true; // the pid is for people only
    return true;
}

void kb_gpu_lock_release(struct kb_gpu_lock *lock)
{
    if (lock->held)
        flock(lock->fd, LOCK_UN);
    lock->held = false;
}

int kb_gpu_lock_holder(const struct kb_gpu_lock *lock)
{
    char text[16] = "";
    if (!lock->path || pread(lock->fd, text, sizeof text - 1, 0) <= 0)
        return 0;
    return atoi(text);
}

void kb_gpu_lock_close(struct kb_gpu_lock *lock)
{
    kb_gpu_lock_release(lock);
    if (lock->path)
        close(lock->fd);
    free(lock->path);
    *lock = (struct kb_gpu_lock){0};
}
