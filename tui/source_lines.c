#include "tui/source_lines.h"
#include "base/file.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { FILES = 8, LINE_MOST = 400 };
#define FILE_MOST ((size_t)8 << 20)

struct content {
    char *data;     // NULL: not read yet, or it can't be
    size_t *starts; // of its lines
    int lines;
};
struct file {
    char *name;
    struct content content;
    bool wanted; // not asked for yet
};
struct kb_source_lines {
    struct kb_background *background;
    char *dir;
    struct file files[FILES];
    int next; // slot to be taken over
    char line[LINE_MOST];
};
struct reading {
    struct kb_job job;
    struct kb_source_lines *asker;
    char *name, *path;
    struct content content;
};

static void free_content(struct content *c)
{
    free(c->data);
    free(c->starts);
    *c = (struct content){0};
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

static void read_file(struct kb_job *job)
{
    struct reading *r = (struct reading *)job;
    struct content *c = &r->content;
    size_t size;
    if (kb_file_read(r->path, FILE_MOST, &c->data, &size, NULL))
        c->data = NULL;
    c->starts = starts_of(c->data, &c->lines);
}

static void drop(struct kb_job *job)
{
    struct reading *r = (struct reading *)job;
    free_content(&r->content);
    free(r->name);
    free(r->path);
    free(r);
}

static struct file *known(struct kb_source_lines *s, const char *name)
{
    for (int i = 0; i < FILES; i++)
        if (s->files[i].name && !strcmp(s->files[i].name, name))
            return &s->files[i];
    return NULL;
}

static void finish(struct kb_job *job)
{
    struct reading *r = (struct reading *)job;
    struct file *f = known(r->asker, r->name);
    if (f) { // else its slot was taken over meanwhile
        free_content(&f->content);
        f->content = r->content;
        r->content = (struct content){0};
    }
    drop(job);
}

struct kb_source_lines *kb_source_lines_new(const char *dir, struct kb_background *background)
{
    struct kb_source_lines *s = kb_alloc(sizeof *s);
    s->background = background;
    s->dir = kb_strdup(dir);
    return s;
}

void kb_source_lines_free(struct kb_source_lines *s)
{
    for (int i = 0; s && i < FILES; i++) {
        free(s->files[i].name);
        free_content(&s->files[i].content);
    }
    if (s)
        free(s->dir);
    free(s);
}

void kb_source_lines_ask(struct kb_source_lines *s)
{
    for (int i = 0; i < FILES; i++) {
        struct file *f = &s->files[i];
        if (!f->wanted)
            continue;
        struct reading *r = kb_alloc(sizeof *r);
        *r = (struct reading){
            .job = {.run = read_file, .finish = finish, .drop = drop},
            .asker = s,
            .name = kb_strdup(f->name),
            .path = kb_path_join(s->dir, f->name),
        };
        f->wanted = false;
        kb_background_ask(s->background, &r->job);
    }
}

void kb_source_lines_forget(struct kb_source_lines *s)
{
    for (int i = 0; i < FILES; i++)
        s->files[i].wanted = s->files[i].name != NULL;
}

static const struct content *find(struct kb_source_lines *s, const char *name)
{
    struct file *f = known(s, name);
    if (!f) {
        f = &s->files[s->next++ % FILES];
        free(f->name);
        free_content(&f->content);
        *f = (struct file){.name = kb_strdup(name), .wanted = true};
    }
    return &f->content;
}

const char *kb_source_line(struct kb_source_lines *s, const char *file, int line)
{
    const struct content *c = find(s, file);
    if (line < 1 || line > c->lines)
        return NULL;
    const char *at = c->data + c->starts[line - 1];
    size_t n = strcspn(at, "\r\n");
    n = n < LINE_MOST - 1 ? n : LINE_MOST - 1;
    memcpy(s->line, at, n);
    s->line[n] = 0;
    return s->line;
}

int kb_source_line_count(struct kb_source_lines *s, const char *file)
{
    return find(s, file)->lines;
}
