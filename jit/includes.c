// Which of the request's files the compiler opened: neither NVRTC nor nvcc says so itself (NVRTC's time trace does, but
// a second program with it in one process crashes NVRTC 13.0), so the folders of the tree are watched meanwhile.
#include "jit/build.h"

#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

struct kb_includes {
    int fd; // -1: not watching
    struct {
        int watch;
        char *dir; // relative to the tree, "" for the tree itself
    } * dirs;
    int count;
};

static bool watched(const struct kb_includes *w, const char *dir)
{
    for (int i = 0; i < w->count; i++)
        if (!strcmp(w->dirs[i].dir, dir))
            return true;
    return false;
}

static bool watch_dir(struct kb_includes *w, const struct kb_build *b, const char *dir)
{
    char *path = kb_path_join(b->tree.dir, dir[0] ? dir : ".");
    int watch = inotify_add_watch(w->fd, path, IN_OPEN | IN_ONLYDIR);
    free(path);
    if (watch < 0)
        return false;
    w->dirs = kb_realloc(w->dirs, sizeof *w->dirs * (size_t)(w->count + 1));
    w->dirs[w->count].watch = watch;
    w->dirs[w->count++].dir = kb_strdup(dir);
    return true;
}

struct kb_includes *kb_includes_watch(const struct kb_build *b)
{
    struct kb_includes *w = kb_alloc(sizeof *w);
    w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    bool good = w->fd >= 0;
    for (int i = 0; good && i < b->request->file_count; i++) {
        char *dir = kb_path_dir(b->request->files[i].name);
        const char *relative = strcmp(dir, ".") ? dir : "";
        good = watched(w, relative) || watch_dir(w, b, relative);
        free(dir);
    }
    if (!good && w->fd >= 0) { // out of watches: then it stays unknown
        close(w->fd);
        w->fd = -1;
    }
    return w;
}

static void add_include(struct kb_build *b, const char *dir, const char *file)
{
    struct kb_compiled *out = b->out;
    char *name = kb_path_join(dir, file);
    bool known = !strcmp(name, b->request->main) || !kb_scan_file(b->request, name) ||
                 kb_starts(name, KB_SECTION_FOLDER); // the worker's own
    for (int i = 0; i < out->include_count; i++)
        known = known || !strcmp(out->includes[i], name);
    if (known) {
        free(name);
        return;
    }
    out->includes = kb_realloc(out->includes, sizeof *out->includes * (size_t)(out->include_count + 1));
    out->includes[out->include_count++] = name;
}

static bool read_events(struct kb_includes *w, struct kb_build *b)
{
    _Alignas(struct inotify_event) char buffer[16 << 10];
    ssize_t n;
    while ((n = read(w->fd, buffer, sizeof buffer)) > 0)
        for (ssize_t at = 0; at < n;) {
            struct inotify_event event;
            memcpy(&event, buffer + at, sizeof event);
            const char *name = buffer + at + sizeof event;
            at += (ssize_t)(sizeof event + event.len);
            if (event.mask & IN_Q_OVERFLOW)
                return false;
            for (int i = 0; event.len && i < w->count; i++)
                if (w->dirs[i].watch == event.wd)
                    add_include(b, w->dirs[i].dir, name);
        }
    return n < 0 && errno == EAGAIN;
}

void kb_includes_take(struct kb_includes *w, struct kb_build *b)
{
    if (w->fd >= 0) {
        b->out->includes_known = read_events(w, b);
        close(w->fd);
    }
    for (int i = 0; i < w->count; i++)
        free(w->dirs[i].dir);
    free(w->dirs);
    free(w);
}
