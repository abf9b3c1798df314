#include "watch/snapshot.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "watch/include.h"
#include "watch/pathset.h"
#include "watch/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILES = 2000, MAX_MACRO_STEPS = 1000 };
static const size_t max_bytes = (size_t)64 << 20, max_plain_bytes = (size_t)512 << 20;

struct found_file {
    char *path, *data;
    size_t size;
};
struct macro_include { // #include NAME, until its define is found
    size_t from;
    struct kb_include include;
};
struct collector {
    const struct kb_snapshot_request *request;
    char **dirs; // cleaned include dirs without the toolkit's own
    int dir_count;
    struct found_file *files;
    size_t file_count, file_capacity;
    size_t bytes;
    struct kb_pathset known, missing; // known: index = index in files
    struct kb_include_list list;      // its includes are those of the file being scanned
    struct macro_include *macros;
    size_t macro_count, macro_capacity;
    struct kb_error *error;
};

// Quoted names start beside the includer. include_next goes on behind the folder in which the includer was found.
static int first_dir_of(const struct collector *c, size_t from, const struct kb_include *include)
{
    if (!include->next)
        return include->form == KB_INCLUDE_QUOTED ? -1 : 0;
    for (int i = 0; i < c->dir_count; i++) {
        char *inside = kb_path_relative(c->dirs[i], c->files[from].path);
        bool is_inside = inside[0] != '/';
        free(inside);
        if (is_inside)
            return i + 1;
    }
    return 0;
}

static char *candidate(const struct collector *c, size_t from, int dir, const char *name)
{
    char *base = dir < 0 ? kb_path_dir(c->files[from].path) : kb_strdup(c->dirs[dir]);
    char *joined = kb_path_join(base, name), *clean = kb_path_clean(joined);
    free(base);
    free(joined);
    return clean;
}

static size_t limit_of(const struct collector *c)
{
    return c->request->plain ? max_plain_bytes : max_bytes;
}

// 1: the file is (now) known; 0: it is not there; -1: a limit was exceeded.
static int try_file(struct collector *c, const char *path)
{
    if (kb_pathset_find(&c->known, path) >= 0)
        return 1;
    if (kb_pathset_find(&c->missing, path) >= 0)
        return 0;
    const struct kb_snapshot_reader *reader = &c->request->reader;
    struct found_file file = {0};
    struct kb_error why;
    if (reader->read(reader->context, path, limit_of(c) - c->bytes, &file.data, &file.size, &why)) {
        bool is_limit = errno == EFBIG, is_main = c->file_count == 0;
        if (is_main && c->error)
            *c->error = why;
        if (is_limit && !is_main)
            kb_fail(c->error, path, "narrow the include folders", "the source and its headers hold more than %zu MiB",
                    limit_of(c) >> 20);
        return is_main || is_limit ? -1 : 0;
    }
    if (c->file_count == MAX_FILES) {
        free(file.data);
        errno = EFBIG;
        return kb_fail(c->error, path, "narrow the include folders", "the source reaches more than %d headers",
                       MAX_FILES);
    }
    file.path = kb_strdup(path);
    KB_GROW(c->files, c->file_count, c->file_capacity);
    c->files[c->file_count++] = file;
    c->bytes += file.size;
    kb_pathset_add(&c->known, path, NULL);
    return 1;
}

// Candidates before the one that is found are missing files too: creating one would shadow it.
static int resolve(struct collector *c, size_t from, const struct kb_include *include)
{
    bool absolute = include->name[0] == '/';
    int dir = absolute ? -1 : first_dir_of(c, from, include);
    for (; dir < (absolute ? 0 : c->dir_count); dir++) {
        char *path = candidate(c, from, dir, include->name);
        int found = try_file(c, path);
        if (!found)
            kb_pathset_add(&c->missing, path, NULL);
        free(path);
        if (found)
            return found < 0 ? -1 : 0;
    }
    return 0;
}

static void remember_macro(struct collector *c, size_t from, const struct kb_include *include)
{
    struct macro_include macro = {from, *include};
    macro.include.name = kb_strdup(include->name);
    KB_GROW(c->macros, c->macro_count, c->macro_capacity);
    c->macros[c->macro_count++] = macro;
}

static int scan_file(struct collector *c, size_t index)
{
    size_t begin = c->list.include_count;
    kb_include_scan(c->files[index].data, c->files[index].size, &c->list);
    for (size_t i = begin; i < c->list.include_count; i++) {
        struct kb_include include = c->list.includes[i];
        if (include.form == KB_INCLUDE_MACRO)
            remember_macro(c, index, &include);
        else if (resolve(c, index, &include))
            return -1;
    }
    return 0;
}

// A name may be defined several times, under conditions that are not evaluated: all of them are followed, within a
// budget of steps since they may run in circles.
static int resolve_macro(struct collector *c, const struct macro_include *macro, const char *name, int *steps)
{
    for (size_t i = 0; i < c->list.define_count; i++) {
        const struct kb_include_define *define = &c->list.defines[i];
        if (strcmp(define->name, name) || --*steps < 0)
            continue;
        struct kb_include include = define->value;
        include.next = macro->include.next;
        if (include.form == KB_INCLUDE_MACRO ? resolve_macro(c, macro, include.name, steps)
                                             : resolve(c, macro->from, &include))
            return -1;
    }
    return 0;
}

static int collect(struct collector *c)
{
    char *main_path = kb_path_clean(c->request->main_path);
    int status = try_file(c, main_path) > 0 ? 0 : -1;
    int saved = errno;
    free(main_path);
    errno = saved;
    if (status || c->request->plain)
        return status;
    for (size_t scanned = 0; scanned < c->file_count;) {
        while (scanned < c->file_count)
            if (scan_file(c, scanned++))
                return -1;
        for (size_t i = 0; i < c->macro_count; i++) {
            int steps = MAX_MACRO_STEPS;
            if (resolve_macro(c, &c->macros[i], c->macros[i].include.name, &steps))
                return -1;
        }
    }
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct kb_snapshot_file *)a)->name, ((const struct kb_snapshot_file *)b)->name);
}

static void shorten_to_common(char *root, const char *dir)
{
    for (;;) {
        size_t n = strlen(root);
        if (n <= 1 || (!strncmp(root, dir, n) && (dir[n] == '/' || !dir[n])))
            return;
        char *slash = strrchr(root, '/');
        slash[slash == root] = 0;
    }
}

static char *common_root(const struct collector *c)
{
    char *root = kb_path_dir(c->files[0].path);
    for (size_t i = 1; i < c->file_count; i++) {
        char *dir = kb_path_dir(c->files[i].path);
        shorten_to_common(root, dir);
        free(dir);
    }
    for (int i = 0; !c->request->plain && i < c->dir_count; i++)
        shorten_to_common(root, c->dirs[i]);
    return root;
}

static struct kb_hash snapshot_hash(const struct kb_snapshot *s)
{
    struct kb_hasher *h = kb_hasher_new();
    for (int i = 0; i < s->file_count; i++) {
        kb_hasher_text(h, s->files[i].name);
        kb_hasher_add(h, s->files[i].data, s->files[i].size);
    }
    return kb_hasher_end(h);
}

// Moves the files and the missing paths out of the collector.
static void build_snapshot(struct collector *c, struct kb_snapshot *out)
{
    *out = (struct kb_snapshot){.root = common_root(c), .file_count = (int)c->file_count};
    out->files = kb_alloc(c->file_count * sizeof *out->files);
    for (size_t i = 0; i < c->file_count; i++) {
        struct found_file *file = &c->files[i];
        char *name = kb_path_relative(out->root, file->path);
        out->files[i] = (struct kb_snapshot_file){file->path, name, file->data, file->size};
    }
    c->file_count = 0;
    out->main = kb_strdup(out->files[0].name);
    qsort(out->files + 1, (size_t)out->file_count - 1, sizeof *out->files, by_name);
    out->include_dirs = kb_alloc((size_t)c->dir_count * sizeof *out->include_dirs);
    for (int i = 0; i < c->dir_count; i++) {
        bool is_root = !strcmp(out->root, c->dirs[i]);
        out->include_dirs[out->include_dir_count++] =
            is_root ? kb_strdup(".") : kb_path_relative(out->root, c->dirs[i]);
    }
    out->missing = kb_alloc(c->missing.count * sizeof *out->missing);
    for (size_t i = 0; i < c->missing.count; i++)
        out->missing[out->missing_count++] = kb_strdup(c->missing.paths[i]);
    out->hash = snapshot_hash(out);
}

static void free_collector(struct collector *c)
{
    for (size_t i = 0; i < c->file_count; i++) {
        free(c->files[i].path);
        free(c->files[i].data);
    }
    free(c->files);
    for (int i = 0; i < c->dir_count; i++)
        free(c->dirs[i]);
    free(c->dirs);
    for (size_t i = 0; i < c->macro_count; i++)
        free(c->macros[i].include.name);
    free(c->macros);
    kb_pathset_free(&c->known);
    kb_pathset_free(&c->missing);
    kb_include_list_free(&c->list);
}

// A toolkit's include folder holds thousands of headers that the compiler finds by itself.
static bool is_toolkit(const char *dir)
{
    char *mark = kb_path_join(dir, "cuda_runtime_api.h");
    bool yes = kb_is_file(mark);
    free(mark);
    return yes;
}

int kb_snapshot_read(const struct kb_snapshot_request *request, struct kb_snapshot *out, struct kb_error *e)
{
    struct collector c = {.request = request, .error = e};
    c.dirs = kb_alloc((size_t)request->include_dir_count * sizeof *c.dirs);
    for (int i = 0; i < request->include_dir_count; i++) {
        char *dir = kb_path_clean(request->include_dirs[i]);
        if (is_toolkit(dir))
            free(dir);
        else
            c.dirs[c.dir_count++] = dir;
    }
    int status = collect(&c);
    int saved = errno;
    if (!status)
        build_snapshot(&c, out);
    free_collector(&c);
    errno = saved;
    return status;
}

static int read_from_disk(void *context, const char *path, size_t limit, char **data, size_t *size, struct kb_error *e)
{
    (void)context;
    struct kb_stamp stamp;
    return kb_probe_read(path, limit, data, size, &stamp, e);
}

int kb_snapshot_take(const char *main_path, const char *const *include_dirs, int include_dir_count,
                     struct kb_snapshot *out, struct kb_error *e)
{
    struct kb_snapshot_request request = {.main_path = main_path,
                                          .include_dirs = (char *const *)include_dirs,
                                          .include_dir_count = include_dir_count,
                                          .reader = {read_from_disk, NULL}};
    return kb_snapshot_read(&request, out, e);
}

void kb_snapshot_free(struct kb_snapshot *s)
{
    for (int i = 0; i < s->file_count; i++) {
        free(s->files[i].path);
        free(s->files[i].name);
        free(s->files[i].data);
    }
    for (int i = 0; i < s->include_dir_count; i++)
        free(s->include_dirs[i]);
    for (int i = 0; i < s->missing_count; i++)
        free(s->missing[i]);
    free(s->files);
    free(s->include_dirs);
    free(s->missing);
    free(s->root);
    free(s->main);
    *s = (struct kb_snapshot){0};
}
