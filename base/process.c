#include "base/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int64_t kb_process_cpu_us(pid_t pid)
{
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
        return -1;
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

// proc(5): "pid (name) state ...", where the name may hold anything.
static bool thread_is_busy(int tasks, const char *thread)
{
    char path[300], text[512];
    snprintf(path, sizeof path, "%.250s/stat", thread);
    int fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    const char *end = strrchr(text, ')');
    return end && end[1] == ' ' && end[2] == 'R';
}

bool kb_process_is_busy(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    const struct dirent *entry;
    bool busy = false;
    while (tasks && !busy && (entry = readdir(tasks)))
        busy = entry->d_name[0] != '.' && thread_is_busy(dirfd(tasks), entry->d_name);
    if (tasks)
        closedir(tasks);
    return busy;
}
