#include "tui/source_lines.h"
#include "base/file.h"
#include "base/memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILES = 8, LINE_MOST = 400 };
#define FILE_MOST ((size_t)8 << 20)

struct file {
    char *name, *data; // data NULL: not read yet, or it can't be
    size_t *starts;    // of its lines
    int lines;
    bool wanted;
};
struct kb_source_lines {
    pthread_mutex_t lock;
    pthread_cond_t work;
    bool quit;
    int users; // the screen and the thread: the last one frees
    char *dir;
    struct file files[FILES];
    int next; // slot to be taken over
    int pipe[2];
    char line[LINE_MOST];
};

static void release(struct kb_source_lines *s)
{
    pthread_mutex_lock(&s->lock);
    bool last = --s->users == 0;
    pthread_mutex_unlock(&s->lock);
    if (!last)
        return;
    for (int i = 0; i < FILES; i++) {
        free(s->files[i].name);
        free(s->files[i].data);
        free(s->files[i].starts);
    }
    close(s->pipe[0]);
    close(s->pipe[1]);
    free(s->dir);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->work);
    free(s);
}

static struct file *wanted(struct kb_source_lines *s)
{
    for (int i = 0; i < FILES; i++)
        if (s->files[i].wanted)
            return &s->files[i];
    return NULL;
}

static size_t *starts_of(const char *data, int *lines)
{
    size_t *starts = NULL;
    int capacity = 0;
    *lines = 0;
    for (const char *at = data; at && *at;) {
        const char *end = strchr(at, '\n');
        KB_GROW(starts, *lines, capacity);
        starts[(*lines)++] = (size_t)(at - data);
        at = end ? end + 1 : NULL;
    }
    return starts;
}

// Reads one file with the lock released, and stores it if it is still wanted under that name.
static void read_one(struct kb_source_lines *s, struct file *f)
{
    char *name = kb_strdup(f->name), *path = kb_path_join(s->dir, name), *data = NULL;
    size_t size;
    f->wanted = false;
    pthread_mutex_unlock(&s->lock);
    if (kb_file_read(path, FILE_MOST, &data, &size, NULL))
        data = NULL;
    int lines;
    size_t *starts = starts_of(data, &lines);
    pthread_mutex_lock(&s->lock);
    if (f->name && !strcmp(f->name, name)) {
        free(f->data);
        free(f->starts);
        f->data = data;
        f->starts = starts;
        f->lines = lines;
        ssize_t written = write(s->pipe[1], "", 1);
        (void)written; // full: it is readable anyway
    } else {
        free(data);
        free(starts);
    }
    free(path);
    free(name);
}

static void *reader(void *argument)
{
    struct kb_source_lines *s = argument;
    pthread_mutex_lock(&s->lock);
    while (!s->quit) {
        struct file *f = wanted(s);
        if (f)
            read_one(s, f);
        else
            pthread_cond_wait(&s->work, &s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    release(s);
    return NULL;
}

struct kb_source_lines *kb_source_lines_new(const char *dir)
{
    struct kb_source_lines *s = kb_alloc(sizeof *s);
    s->dir = kb_strdup(dir);
    s->users = 2;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->work, NULL);
    if (pipe2(s->pipe, O_CLOEXEC | O_NONBLOCK))
        s->pipe[0] = s->pipe[1] = -1;
    sigset_t all, mask;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    pthread_t thread;
    if (pthread_create(&thread, NULL, reader, s))
        s->users = 1; // no thread: lines stay unknown
    else
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return s;
}

void kb_source_lines_free(struct kb_source_lines *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->quit = true;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
    release(s);
}

int kb_source_lines_fd(const struct kb_source_lines *s)
{
    return s->pipe[0];
}

void kb_source_lines_take(struct kb_source_lines *s)
{
    char buffer[64];
    while (read(s->pipe[0], buffer, sizeof buffer) > 0)
        continue;
}

void kb_source_lines_forget(struct kb_source_lines *s)
{
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < FILES; i++)
        s->files[i].wanted = s->files[i].name != NULL;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
}

static struct file *find(struct kb_source_lines *s, const char *name)
{
    for (int i = 0; i < FILES; i++)
        if (s->files[i].name && !strcmp(s->files[i].name, name))
            return &s->files[i];
    struct file *f = &s->files[s->next++ % FILES];
    free(f->name);
    free(f->data);
    free(f->starts);
    *f = (struct file){.name = kb_strdup(name), .wanted = true};
    pthread_cond_signal(&s->work);
    return f;
}

const char *kb_source_line(struct kb_source_lines *s, const char *file, int line)
{
    pthread_mutex_lock(&s->lock);
    const struct file *f = find(s, file);
    const char *at = line >= 1 && line <= f->lines ? f->data + f->starts[line - 1] : NULL;
    if (at) {
        size_t n = strcspn(at, "\r\n");
        n = n < LINE_MOST - 1 ? n : LINE_MOST - 1;
        memcpy(s->line, at, n);
        s->line[n] = 0;
    }
    pthread_mutex_unlock(&s->lock);
    return at ? s->line : NULL;
}

int kb_source_line_count(struct kb_source_lines *s, const char *file)
{
    pthread_mutex_lock(&s->lock);
    int count = find(s, file)->lines;
    pthread_mutex_unlock(&s->lock);
    return count;
}
