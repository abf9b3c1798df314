#include "watch/snapshot.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench/options.h"
#include "watch/include.h"
#include "watch/macro.h"
#include "watch/pathset.h"
#include "watch/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILES = 5000, MAX_OPTION_FILES = 8 };
static const size_t max_bytes = (size_t)64 << 20, max_plain_bytes = (size_t)512 << 20;

struct found_file {
    char *path, *data;
    size_t size;
    bool beside;
};
struct macro_include { // #include NAME, until its define is found
    size_t from;
    struct kb_include include;
};
struct dirs {
    char **list;
    size_t count, capacity;
};
struct collector {
    const struct kb_snapshot_request *request;
    const struct kb_reach *reach;
    struct dirs dirs;   // cleaned include dirs without the toolkit's own
    struct dirs beside; // those of options
    struct found_file *files;
    size_t file_count, file_capacity;
    size_t bytes;
    struct kb_pathset known, missing; // known: index = index in files
    struct kb_include_list list;      // its includes are those of the file being scanned
    struct macro_include *macros;
    size_t macro_count, macro_capacity;
    char *opaque;
    bool promoted; // a file that counted as beside belongs to the request: what it includes does, too
    int option_files;
    struct kb_error *error;
};

// Quoted names start beside the includer. include_next goes on behind the folder in which the includer was found.
static int first_dir_of(const struct collector *c, size_t from, const struct kb_include *include)
{
    if (!include->next)
        return include->form == KB_INCLUDE_QUOTED ? -1 : 0;
    for (size_t i = 0; i < c->dirs.count; i++) {
        char *inside = kb_path_relative(c->dirs.list[i], c->files[from].path);
        bool is_inside = inside[0] != '/';
        free(inside);
        if (is_inside)
            return (int)i + 1;
    }
    return 0;
}

static size_t limit_of(const struct collector *c)
{
    return c->request->plain ? max_plain_bytes : max_bytes;
}

static int known_file(struct collector *c, size_t index, bool beside)
{
    struct found_file *file = &c->files[index];
    c->promoted |= file->beside && !beside;
    file->beside = file->beside && beside;
    return 1;
}

// 1: the file is (now) known; 0: it is not there; -1: a limit was exceeded.
static int try_file(struct collector *c, const char *path, bool beside)
{
    ptrdiff_t known = kb_pathset_find(&c->known, path);
    if (known >= 0)
        return known_file(c, (size_t)known, beside);
    if (kb_pathset_find(&c->missing, path) >= 0)
        return 0;
    const struct kb_snapshot_reader *reader = &c->request->reader;
    struct found_file file = {.beside = beside};
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

// 1: found (in dir, by that name), 0: not, which is remembered, -1: a limit was exceeded.
static int try_in(struct collector *c, const char *dir, const char *name, bool beside)
{
    char *joined = kb_path_join(dir, name), *path = kb_path_clean(joined);
    int found = try_file(c, path, beside);
    if (!found)
        kb_pathset_add(&c->missing, path, NULL);
    free(joined);
    free(path);
    return found;
}

// Candidates before the one that is found are missing files too: creating one would shadow it.
static int resolve_inside(struct collector *c, size_t from, const struct kb_include *include)
{
    for (int i = first_dir_of(c, from, include); i < (int)c->dirs.count; i++) {
        char *own = i < 0 ? kb_path_dir(c->files[from].path) : NULL;
        int found = try_in(c, own ? own : c->dirs.list[i], include->name, own && c->files[from].beside);
        free(own);
        if (found)
            return found < 0 ? -1 : 0;
    }
    return 0;
}

// In which order compilers look into the folders of options and those of the request depends on the options: whatever
// lies in any of them counts.
static int resolve(struct collector *c, size_t from, const struct kb_include *include)
{
    if (include->name[0] == '/')
        return try_in(c, "/", include->name, true) < 0 ? -1 : 0;
    if (resolve_inside(c, from, include))
        return -1;
    for (size_t i = 0; i < c->beside.count; i++)
        if (try_in(c, c->beside.list[i], include->name, true) < 0)
            return -1;
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

struct meant { // whom a macro's headers belong to
    struct collector *c;
    const struct macro_include *macro;
};

static int take_meant(void *context, const struct kb_include *include)
{
    const struct meant *m = context;
    struct kb_include meant = *include;
    meant.next = m->macro->include.next;
    return resolve(m->c, m->macro->from, &meant);
}

static int resolve_macros(struct collector *c)
{
    free(c->opaque);
    c->opaque = NULL;
    for (size_t i = 0; i < c->macro_count; i++) {
        struct macro_include macro = c->macros[i]; // more of them may come
        struct meant meant = {c, &macro};
        int status;
        bool whole = kb_macro_headers(&c->list, macro.include.name, take_meant, &meant, &status);
        if (status)
            return -1;
        if (!whole && !c->opaque && !macro.include.condition)
            c->opaque = kb_format("%s: #include %s", kb_path_base(c->files[macro.from].path), macro.include.name);
    }
    return 0;
}

static void add_dir(struct dirs *d, const char *path)
{
    char *clean = kb_path_clean(path);
    if (kb_is_toolkit_folder(clean)) {
        free(clean);
        return;
    }
    KB_GROW(d->list, d->count, d->capacity);
    d->list[d->count++] = clean;
}

static int take_options(struct collector *c, const char *const *options, int count);

static int take_text(struct collector *c, const char *text, size_t size)
{
    char *copy = kb_strndup(text, size), **words = NULL;
    int count = 0;
    kb_options_split(copy, &words, &count);
    int status = take_options(c, (const char *const *)words, count);
    kb_free_list(words);
    free(copy);
    return status;
}

// A file of options is itself read by the compiler; it may name others.
static int take_option_file(struct collector *c, const char *path)
{
    if (path[0] != '/' || ++c->option_files > MAX_OPTION_FILES)
        return 0;
    int found = try_in(c, "/", path, true);
    ptrdiff_t index = found > 0 ? kb_pathset_find(&c->known, path) : -1;
    return found < 0 ? -1 : index < 0 ? 0 : take_text(c, c->files[index].data, c->files[index].size);
}

// "-I/x,-DY" behind -Xcompiler.
static int take_host_options(struct collector *c, const char *value)
{
    char *words = kb_strdup(value);
    for (char *p = words; *p; p++)
        *p = *p == ',' ? ' ' : *p;
    int status = take_text(c, words, strlen(words));
    free(words);
    return status;
}

// As the compilers look for it: by its path, then in the folders.
static int take_header(struct collector *c, const char *name)
{
    struct kb_include include = {.form = KB_INCLUDE_ANGLED, .name = (char *)name};
    return resolve(c, 0, &include);
}

// Several names may stand behind one option; whether a comma divides depends on the compiler.
static int take_names(struct collector *c, const struct kb_option *o)
{
    int status = 0;
    bool whole = strchr(o->value, ',') != NULL;
    for (const char *p = o->value; *p && !status;) {
        size_t n = whole ? strlen(p) : strcspn(p, ",");
        char *one = kb_strndup(p, n);
        if (o->kind == KB_OPTION_HEADER)
            status = take_header(c, one);
        else if (*one == '/')
            add_dir(&c->beside, one);
        p = whole ? p : p + n + (p[n] != 0);
        whole = false;
        free(one);
    }
    return status;
}

// Folders first: headers are looked for in all of them.
static int take_options(struct collector *c, const char *const *options, int count)
{
    int status = 0;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < count && !status;) {
            struct kb_option o = kb_option_read(options + i, count - i);
            if (o.kind == (round ? KB_OPTION_HEADER : KB_OPTION_FOLDER))
                status = take_names(c, &o);
            else if (o.kind == KB_OPTION_DEFINE && !round)
                kb_include_define(&c->list, o.value);
            else if (o.kind == KB_OPTION_FILE && !round)
                status = take_option_file(c, o.value);
            else if (o.kind == KB_OPTION_HOST && !round)
                status = take_host_options(c, o.value);
            i += o.words;
        }
    return status;
}

// Macros of //kb: lines, for whichever variant.
static void take_directives(struct collector *c)
{
    const char *text = c->files[0].data, *end = text + c->files[0].size;
    for (const char *p = text; (p = memmem(p, (size_t)(end - p), "define:", 7));) {
        p += 7;
        const char *line = p;
        while (line > text && line[-1] != '\n')
            line--;
        char *before = kb_strndup(line, (size_t)(p - line)), *define = kb_strndup(p, strcspn(p, " \t\r\n"));
        if (strstr(before, "//kb:") || strstr(before, "// kb:"))
            kb_include_define(&c->list, define);
        free(define);
        free(before);
    }
}

static int take_reach(struct collector *c)
{
    const struct kb_reach *r = c->reach;
    for (int i = 0; i < r->include_dir_count; i++)
        add_dir(&c->dirs, r->include_dirs[i]);
    for (int i = 0; i < r->define_count; i++)
        kb_include_define(&c->list, r->defines[i]);
    take_directives(c);
    return take_options(c, r->options, r->option_count);
}

static int follow(struct collector *c)
{
    for (size_t scanned = 0; scanned < c->file_count;) {
        while (scanned < c->file_count)
            if (scan_file(c, scanned++))
                return -1;
        if (resolve_macros(c))
            return -1;
        if (c->promoted)
            scanned = 0;
        c->promoted = false;
    }
    return 0;
}

static int collect(struct collector *c)
{
    char *main_path = kb_path_clean(c->request->main_path);
    int status = try_file(c, main_path, false) > 0 ? 0 : -1;
    int saved = errno;
    free(main_path);
    errno = saved;
    if (status || c->request->plain)
        return status;
    return take_reach(c) || follow(c) ? -1 : 0;
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
        if (c->files[i].beside)
            continue;
        char *dir = kb_path_dir(c->files[i].path);
        shorten_to_common(root, dir);
        free(dir);
    }
    for (size_t i = 0; !c->request->plain && i < c->dirs.count; i++)
        shorten_to_common(root, c->dirs.list[i]);
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
        char *name = file->beside ? kb_strdup(file->path) : kb_path_relative(out->root, file->path);
        out->files[i] = (struct kb_snapshot_file){file->path, name, file->data, file->size, file->beside};
    }
    c->file_count = 0;
    out->main = kb_strdup(out->files[0].name);
    qsort(out->files + 1, (size_t)out->file_count - 1, sizeof *out->files, by_name);
    out->include_dirs = kb_alloc(c->dirs.count * sizeof *out->include_dirs);
    for (size_t i = 0; i < c->dirs.count; i++) {
        bool is_root = !strcmp(out->root, c->dirs.list[i]);
        out->include_dirs[out->include_dir_count++] =
            is_root ? kb_strdup(".") : kb_path_relative(out->root, c->dirs.list[i]);
    }
    out->opaque = c->opaque;
    c->opaque = NULL;
    out->missing = kb_alloc(c->missing.count * sizeof *out->missing);
    for (size_t i = 0; i < c->missing.count; i++)
        out->missing[out->missing_count++] = kb_strdup(c->missing.paths[i]);
    out->hash = snapshot_hash(out);
}

static void free_dirs(struct dirs *d)
{
    for (size_t i = 0; i < d->count; i++)
        free(d->list[i]);
    free(d->list);
}

static void free_collector(struct collector *c)
{
    for (size_t i = 0; i < c->file_count; i++) {
        free(c->files[i].path);
        free(c->files[i].data);
    }
    free(c->files);
    free_dirs(&c->dirs);
    free_dirs(&c->beside);
    free(c->opaque);
    for (size_t i = 0; i < c->macro_count; i++)
        free(c->macros[i].include.name);
    free(c->macros);
    kb_pathset_free(&c->known);
    kb_pathset_free(&c->missing);
    kb_include_list_free(&c->list);
}

int kb_snapshot_read(const struct kb_snapshot_request *request, struct kb_snapshot *out, struct kb_error *e)
{
    static const struct kb_reach nothing;
    struct collector c = {.request = request, .reach = request->reach ? request->reach : &nothing, .error = e};
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

int kb_snapshot_take(const char *main_path, const struct kb_reach *reach, struct kb_snapshot *out, struct kb_error *e)
{
    struct kb_snapshot_request request = {.main_path = main_path, .reach = reach, .reader = {read_from_disk, NULL}};
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
    free(s->opaque);
    *s = (struct kb_snapshot){0};
}
