// `kbench-tui new`: a small bench that works at once.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench/bench.h"
#include "bench/operators.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_BYTES = 64 << 20 };

static char *json_text(const char *s)
{
    cJSON *item = cJSON_CreateString(s);
    char *text = kb_json_line(item);
    cJSON_Delete(item);
    return text;
}

static int write_file(const char *dir, const char *name, const char *data, size_t size, struct kb_error *e)
{
    char *path = kb_path_join(dir, name);
    int status = kb_file_replace(path, data, size, e);
    free(path);
    return status;
}

// The text with the first "name": "old" renamed, NULL if that is not the bench's own name.
static char *renamed(const char *text, const char *old, const char *name)
{
    char *quoted_old = json_text(old), *quoted = json_text(name), *out = NULL;
    const char *key = strstr(text, "\"name\""), *p = key ? key + 6 : "";
    while (*p && (isspace((unsigned char)*p) || *p == ':'))
        p++;
    if (key && kb_starts(p, quoted_old))
        out = kb_format("%.*s%s%s", (int)(p - text), text, quoted, p + strlen(quoted_old));
    free(quoted_old);
    free(quoted);
    return out;
}

static int write_text(const char *dir, const char *name, const char *text, struct kb_error *e)
{
    return write_file(dir, name, text, strlen(text), e);
}

static int write_operator(const char *dir, const char *name, const struct kb_operator *o, struct kb_error *e)
{
    char *bench = renamed(o->bench, o->name, name);
    int status = write_text(dir, "bench.json", bench, e) || write_text(dir, "reference.cu", o->reference, e) ||
                         write_text(dir, "naive.cu", o->naive, e)
                     ? -1
                     : 0;
    free(bench);
    return status;
}

static int copy_file(const char *from, const char *to, const char *file, const struct kb_bench *b, const char *name,
                     struct kb_error *e)
{
    char *path = kb_path_join(from, file), *data = NULL, *changed = NULL;
    size_t size = 0;
    struct stat info;
    int status = 0;
    if (lstat(path, &info) == 0 && S_ISREG(info.st_mode)) {
        status = kb_file_read(path, MOST_BYTES, &data, &size, e);
        if (!status && !strcmp(file, "bench.json"))
            changed = renamed(data, b->name, name);
        if (!status)
            status = write_file(to, file, changed ? changed : data, changed ? strlen(changed) : size, e);
    }
    free(path);
    free(data);
    free(changed);
    return status;
}

static int copy_files(const char *from, const char *to, const struct kb_bench *b, const char *name, struct kb_error *e)
{
    DIR *dir = opendir(from);
    if (!dir)
        return kb_fail(e, from, NULL, "cannot read the folder: %s", strerror(errno));
    int status = 0;
    for (struct dirent *entry; !status && (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.')
            status = copy_file(from, to, entry->d_name, b, name, e);
    closedir(dir);
    return status;
}

// The names of all operators, as one text; owned.
static char *names(void)
{
    struct kb_text text = {0};
    const struct kb_operator *o;
    for (int i = 0; (o = kb_operator_at(i)); i++)
        kb_text_addf(&text, "%s%s", i ? ", " : "", o->name);
    return kb_text_take(&text);
}

int kb_bench_new(const char *dir, const char *like, const char *op, struct kb_error *e)
{
    struct stat info;
    struct kb_bench *model = NULL;
    const struct kb_operator *o = kb_operator_find(op ? op : "elementwise");
    if (!o) {
        char *known = names();
        kb_fail(e, op, known, "there is no operator of this name");
        free(known);
        return -1;
    }
    if (lstat(dir, &info) == 0)
        return kb_fail(e, dir, "choose another name, or remove it first", "already exists");
    if (like && kb_bench_load(like, &model, e))
        return -1;
    char *clean = kb_path_clean(dir);
    const char *name = kb_path_base(clean);
    int status = kb_make_dirs(clean, e);
    if (!status)
        status = model ? copy_files(model->dir, clean, model, name, e) : write_operator(clean, name, o, e);
    free(clean);
    kb_bench_free(model);
    return status;
}
