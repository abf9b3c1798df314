#include "loop/dump.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "bench/bench.h"
#include "loop/history.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct dump {
    struct kb_history *history;
    struct kb_bench *bench; // NULL: it cannot be read (any more); the history says enough
    const char *dir;
    struct kb_text *out;
    struct kb_error *error;
};
struct folder { // of one version
    const struct dump *dump;
    char *path;
    char **files;
    int count, capacity;
    char *source; // text of the main source
};

static int write_file(struct folder *f, const char *name, const char *data, size_t size)
{
    char *path = kb_path_join(f->path, name), *parent = kb_path_dir(path);
    int status = kb_make_dirs(parent, f->dump->error) || kb_file_replace(path, data, size, f->dump->error) ? -1 : 0;
    if (!status) {
        KB_GROW(f->files, f->count, f->capacity);
        f->files[f->count++] = kb_strdup(name);
    }
    free(parent);
    free(path);
    return status;
}

// Where an object of the history goes. Names of headers come from a source: none may leave the folder.
static char *file_name(const char *object, const char *source)
{
    static const struct {
        const char *object, *file;
    } known[] = {{"ptx", "kernel.ptx"},
                 {"cubin", "kernel.cubin"},
                 {"sass", "kernel.sass"},
                 {"ir", "kernel.ir"},
                 {"samples", "samples.json"}};
    struct kb_text out = {0};
    for (size_t i = 0; i < KB_COUNT(known); i++)
        if (!strcmp(object, known[i].object))
            return kb_strdup(known[i].file);
    bool header = kb_starts(object, "header:");
    const char *name = !strcmp(object, "source") ? source : header ? object + strlen("header:") : object;
    if (header)
        kb_text_add(&out, "headers");
    while (*name) {
        size_t n = strcspn(name, "/");
        bool here = !n || (n == 1 && name[0] == '.'), up = n == 2 && !strncmp(name, "..", 2);
        if (!here)
            kb_text_addf(&out, "%s%.*s", out.size ? "/" : "", up ? 2 : (int)n, up ? "up" : name);
        name += n + (name[n] == '/');
    }
    if (!out.size)
        kb_text_add(&out, "unnamed");
    return kb_text_take(&out);
}

static int write_objects(struct folder *f, const cJSON *record)
{
    const cJSON *object;
    int status = 0;
    cJSON_ArrayForEach (object, kb_json_get(record, "objects")) {
        const char *name = kb_json_text(object, "name", "");
        char *data, *file = file_name(name, kb_path_base(kb_json_text(record, "source", "source")));
        size_t size;
        if (kb_history_object(f->dump->history, kb_json_text(object, "hash", ""), &data, &size, f->dump->error)) {
            free(file);
            return -1;
        }
        status = status || write_file(f, file, data, size) ? -1 : 0;
        if (!strcmp(name, "source") && !f->source)
            f->source = data;
        else
            free(data);
        free(file);
    }
    return status;
}

static int write_json(struct folder *f, const char *name, const cJSON *item)
{
    char *text = cJSON_Print(item), *lines = kb_format("%s\n", text);
    int status = write_file(f, name, lines, strlen(lines));
    free(lines);
    free(text);
    return status;
}

// The last `resources` event: complete once the launch limits were checked.
static const cJSON *resources_of(const cJSON *record)
{
    const cJSON *event, *found = NULL;
    cJSON_ArrayForEach (event, kb_json_get(kb_json_get(record, "results"), "events"))
        if (!strcmp(kb_json_text(event, "type", ""), "resources"))
            found = event;
    return found;
}

static int write_report(struct folder *f, const cJSON *record)
{
    const struct kb_bench *b = f->dump->bench;
    struct kb_ev_bench *bench = b ? kb_record_new(&kb_record_bench, b->json) : NULL;
    struct kb_report_context context = {.bench_name = b ? b->name : NULL,
                                        .headline = b ? kb_bench_headline(b) : 0,
                                        .bench = bench,
                                        .source = f->source,
                                        .files = (const char *const *)f->files,
                                        .file_count = f->count};
    struct kb_text report = {0};
    kb_dump_report(record, &context, &report);
    int status = write_file(f, "report.md", report.data, report.size);
    kb_text_free(&report);
    kb_record_delete(&kb_record_bench, bench);
    return status;
}

static int write_version(struct folder *f, const cJSON *record)
{
    const cJSON *resources = resources_of(record), *results = kb_json_get(record, "results");
    if (kb_make_dirs(f->path, f->dump->error) || write_objects(f, record))
        return -1;
    if (resources && write_json(f, "resources.json", resources))
        return -1;
    if (cJSON_IsObject(results) && write_json(f, "results.json", results))
        return -1;
    return write_report(f, record);
}

// A variant's name as a part of a path: what no folder should have becomes '_'.
static char *folder_name(const char *variant, int version)
{
    char *name = kb_format("%s@%d", variant, version);
    for (char *p = name; *p; p++)
        if (*p == '/' || (unsigned char)*p < 0x20 || (p == name && *p == '.'))
            *p = '_';
    return name;
}

static int dump_version(const struct dump *d, const char *variant, int version)
{
    struct folder f = {.dump = d};
    cJSON *record;
    if (kb_history_load(d->history, variant, version, &record, d->error))
        return -1;
    char *name = folder_name(variant, version);
    f.path = kb_path_join(d->dir, name);
    int status = kb_is_dir(f.path) || kb_is_file(f.path)
                     ? kb_fail(d->error, f.path, "give another folder, or remove it", "it is there already")
                     : write_version(&f, record);
    if (!status)
        kb_text_addf(d->out, "%s: %d files\n", f.path, f.count);
    for (int i = 0; i < f.count; i++)
        free(f.files[i]);
    free(f.files);
    free(f.source);
    free(f.path);
    free(name);
    cJSON_Delete(record);
    return status;
}

static int newest(const struct dump *d, const char *variant, int *version)
{
    int *versions = NULL, count = 0;
    if (kb_history_list(d->history, variant, &versions, &count, d->error))
        return -1;
    *version = count ? versions[count - 1] : 0;
    free(versions);
    return 0;
}

static int dump_named(const struct dump *d, const char *which)
{
    const char *at = strrchr(which, '@');
    char *end, *variant = at ? kb_strndup(which, (size_t)(at - which)) : kb_strdup(which);
    int version = 0, status = 0;
    if (at) {
        errno = 0;
        long n = strtol(at + 1, &end, 10);
        if (errno || *end || n < 1 || n > INT_MAX || !*variant)
            status = kb_fail(d->error, which, "as in tuned@3", "it names no version");
        version = (int)n;
    } else {
        status = newest(d, variant, &version);
        if (!status && !version)
            status = kb_fail(d->error, variant, "kbench-tui BENCH builds it; the history keeps what was built",
                             "the history holds no version of it");
    }
    status = status || dump_version(d, variant, version) ? -1 : 0;
    free(variant);
    return status;
}

// The variant that a folder of the history belongs to, out of any of its records; NULL: none. Owned.
static char *variant_in(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    char *name = NULL;
    while (dir && !name && (entry = readdir(dir))) {
        char *data, *path = kb_path_join(folder, entry->d_name);
        size_t size;
        if (kb_ends(entry->d_name, ".json") && !kb_file_read(path, (size_t)64 << 20, &data, &size, NULL)) {
            cJSON *record = cJSON_ParseWithLength(data, size);
            name = kb_strdup(kb_json_text(record, "variant", NULL));
            cJSON_Delete(record);
            free(data);
        }
        free(path);
    }
    if (dir)
        closedir(dir);
    return name;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char **variants_of(const struct dump *d, int *count)
{
    char *versions = kb_path_join(kb_history_dir(d->history), "versions"), **names = NULL;
    DIR *dir = opendir(versions);
    struct dirent *entry;
    int capacity = 0;
    *count = 0;
    while (dir && (entry = readdir(dir))) {
        char *folder = kb_path_join(versions, entry->d_name);
        char *name = entry->d_name[0] == '.' ? NULL : variant_in(folder);
        free(folder);
        if (!name)
            continue;
        KB_GROW(names, *count, capacity);
        names[(*count)++] = name;
    }
    if (dir)
        closedir(dir);
    free(versions);
    if (names)
        qsort(names, (size_t)*count, sizeof *names, by_name);
    return names;
}

static int dump_all(const struct dump *d)
{
    int count, status = 0;
    char **names = variants_of(d, &count);
    if (!count)
        status = kb_fail(d->error, kb_history_dir(d->history), "kbench-tui BENCH fills it", "it holds no version");
    for (int i = 0; i < count; i++) {
        int version = 0;
        if (!status)
            status = newest(d, names[i], &version);
        if (!status && version)
            status = dump_version(d, names[i], version);
        free(names[i]);
    }
    free(names);
    return status;
}

int kb_dump(const char *bench_path, const char *which, const char *dir, struct kb_text *out, struct kb_error *e)
{
    struct dump d = {.dir = dir, .out = out, .error = e};
    char *bench_dir = kb_is_dir(bench_path) ? kb_strdup(bench_path) : kb_path_dir(bench_path);
    int status = -1;
    if (!kb_is_dir(bench_path) && !kb_is_file(bench_path))
        kb_fail(e, bench_path, "a folder with bench.json, a bench.json, or a .cu", "it is not there");
    else if (!kb_history_open(bench_dir, false, &d.history, e)) {
        if (!kb_source_path(bench_path))
            kb_bench_load(bench_path, &d.bench, NULL);
        status = which ? dump_named(&d, which) : dump_all(&d);
        kb_bench_free(d.bench);
        kb_history_close(d.history);
    }
    free(bench_dir);
    return status;
}
