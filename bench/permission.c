#include "bench/permission.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEEPEST = 8 };

bool kb_permission_names_file(const char *word)
{
    return *word && *word != '-' && *word != '/' && !strchr(word, '=') && strpbrk(word, "./");
}

char *kb_command_line(char *const *command)
{
    struct kb_text out = {0};
    for (int i = 0; command[i]; i++) {
        bool plain = *command[i] != 0;
        for (const char *p = command[i]; *p; p++)
            plain = plain && (isalnum((unsigned char)*p) || strchr("_-./+=:,@%", *p) || (unsigned char)*p > 0x7f);
        kb_text_add(&out, i ? " " : "");
        if (plain) {
            kb_text_add(&out, command[i]);
            continue;
        }
        kb_text_add(&out, "'");
        for (const char *p = command[i]; *p; p++)
            kb_text_addf(&out, *p == '\'' ? "'\\%c'" : "%c", *p);
        kb_text_add(&out, "'");
    }
    return kb_text_take(&out);
}

static void add_name(struct kb_permission *p, const char *name)
{
    for (int i = 0; i < p->file_count; i++)
        if (!strcmp(p->files[i].name, name))
            return;
    p->files = kb_realloc(p->files, sizeof *p->files * (size_t)(p->file_count + 1));
    p->files[p->file_count++] = (struct kb_permission_file){.name = kb_strdup(name)};
}

static int by_name(const void *a, const void *b)
{
    const struct kb_permission_file *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static bool is_code(const char *name)
{
    static const char *const ends[] = {".py", ".pyc", ".so", ".sh"};
    for (size_t i = 0; i < KB_COUNT(ends); i++)
        if (kb_ends(name, ends[i]))
            return true;
    return false;
}

// Below the bench, too: a folder there may be what `import` finds first. Links to folders are followed as far as the
// depth allows; hidden folders and __pycache__, which is not used (verify/command.c), are left out.
static int add_scripts(struct kb_permission *p, const char *dir, const char *below, int depth, struct kb_error *e)
{
    char *path = *below ? kb_path_join(dir, below) : kb_strdup(dir);
    DIR *d = opendir(path);
    int failed = d ? 0 : kb_fail(e, path, NULL, "cannot be read: %s", strerror(errno));
    for (const struct dirent *entry; !failed && (entry = readdir(d));) {
        if (entry->d_name[0] == '.' || !strcmp(entry->d_name, "__pycache__"))
            continue;
        char *name = *below ? kb_path_join(below, entry->d_name) : kb_strdup(entry->d_name);
        char *whole = kb_path_join(dir, name);
        if (kb_is_dir(whole))
            failed = depth >= DEEPEST ? kb_fail(e, whole, "put the bench into a folder of its own",
                                                "the folders below the bench are too deep to be looked at")
                                      : add_scripts(p, dir, name, depth + 1, e);
        else if (is_code(name))
            add_name(p, name);
        if (!failed && p->file_count > KB_PERMISSION_FILES)
            failed = kb_fail(e, dir, "put the bench into a folder of its own",
                             "more than %d scripts lie below it, too many to be allowed at once", KB_PERMISSION_FILES);
        free(whole);
        free(name);
    }
    if (d)
        closedir(d);
    free(path);
    return failed ? -1 : 0;
}

// A script that lies elsewhere; programs, which the system's packages renew, are not looked at.
static bool is_script_elsewhere(const char *word)
{
    char start[4] = "";
    FILE *f = word[0] == '/' && kb_is_file(word) ? fopen(word, "re") : NULL;
    bool read = f && fread(start, 1, sizeof start, f) > 0;
    if (f)
        fclose(f);
    return read && memcmp(start, "\177ELF", 4) != 0;
}

static int find_files(struct kb_permission *p, const char *dir, char *const *command, struct kb_error *e)
{
    for (int i = 0; command[i]; i++) {
        char *path = kb_path_join(dir, command[i]);
        if ((kb_permission_names_file(command[i]) && kb_is_file(path)) || is_script_elsewhere(command[i]))
            add_name(p, command[i]);
        free(path);
    }
    if (add_scripts(p, dir, "", 0, e))
        return -1;
    if (p->file_count)
        qsort(p->files, (size_t)p->file_count, sizeof *p->files, by_name);
    return 0;
}

static void add_part(struct kb_text *out, const char *bytes, size_t size)
{
    kb_text_addf(out, "%zu:", size);
    kb_text_bytes(out, bytes, size);
    kb_text_add(out, "\n");
}

static char *record_path(const struct kb_permission *p, struct kb_error *e)
{
    char *state = kb_state_dir();
    if (!state)
        kb_fail(e, NULL, "set HOME or XDG_STATE_HOME", "there is no folder to remember permissions in");
    char *path = state ? kb_format("%s/allowed/%s", state, p->hash.hex) : NULL;
    free(state);
    return path;
}

static bool is_given(const struct kb_permission *p)
{
    char *path = record_path(p, NULL), *data = NULL;
    size_t size = 0;
    bool same = path && kb_is_file(path) && !kb_file_read(path, p->content.size, &data, &size, NULL) &&
                size == p->content.size && !memcmp(data, p->content.data, size);
    free(data);
    free(path);
    return same;
}

// Files that a script names

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("_-./+", c)) || (c & 0x80);
}

static bool is_known(const struct kb_permission *p, const char *name)
{
    bool known = !strcmp(name, "bench.json");
    for (int i = 0; i < p->file_count; i++)
        known = known || !strcmp(p->files[i].name, name);
    for (int i = 0; i < p->data_count; i++)
        known = known || !strcmp(p->data[i], name);
    return known;
}

static void add_data(struct kb_permission *p, const char *dir, const char *folder, const char *word)
{
    char *joined = kb_path_join(folder, word), *whole = kb_path_join(dir, joined), *path = kb_path_clean(whole),
         *base = kb_path_clean(dir), *name = kb_path_relative(base, path);
    if (p->data_count < KB_PERMISSION_FILES && kb_is_file(path) && !is_known(p, name)) {
        p->data = kb_realloc(p->data, sizeof *p->data * (size_t)(p->data_count + 1));
        p->data[p->data_count++] = kb_strdup(name);
    }
    free(name);
    free(base);
    free(path);
    free(whole);
    free(joined);
}

static const char *back_over(const char *from, const char *p, const char *set)
{
    while (p > from && strchr(set, p[-1]))
        p--;
    return p;
}

// `> NAME`, `save("NAME"`, `open("NAME", "w"`: what a command writes is not what its results come from, and it would
// change with every run.
static bool is_written(const char *text, const char *word, const char *behind)
{
    const char *before = back_over(text, word, "\"' \t/");
    if (before > text && before[-1] == '>')
        return true;
    const char *open = back_over(text, before, "( \t"), *name = open;
    while (open < before && name > text && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
        name--;
    char *function = kb_strndup(name, (size_t)(open - name));
    bool writes = strstr(function, "save") || strstr(function, "dump") || strstr(function, "write");
    free(function);
    behind += strspn(behind, "\"' \t");
    behind += *behind == ',' ? 1 + strspn(behind + 1, " \t") : 0;
    behind += kb_starts(behind, "mode=") ? 5 : 0;
    return writes || ((*behind == '"' || *behind == '\'') && behind[1] && strchr("wax", behind[1]));
}

// A word may be a path, be relative to the bench or to the script, or be put behind a folder's name ("/table.npy").
static void add_named(struct kb_permission *p, const char *dir, const struct kb_permission_file *f)
{
    enum { NAME_MOST = 200 };
    const char *text = p->content.data + f->at, *end = text + f->size;
    char *folder = kb_path_dir(f->name);
    for (const char *at = text; at < end;) {
        size_t n = 0;
        while (at + n < end && in_name(at[n]))
            n++;
        bool read = n && n < NAME_MOST && !is_written(text, at, at + n);
        char *word = read ? kb_strndup(at, n) : NULL;
        const char *relative = word ? word + strspn(word, "/") : "";
        if (word && relative != word)
            add_data(p, dir, dir, word);
        if (strpbrk(relative, "./")) {
            add_data(p, dir, dir, relative);
            add_data(p, dir, folder, relative);
        }
        free(word);
        at += n + 1;
    }
    free(folder);
}

// What is too large to be read counts by its size and time.
static void hash_data(struct kb_hasher *h, const char *dir, const char *name)
{
    enum { WHOLE_BYTES = 256 << 20 };
    char *path = kb_path_join(dir, name), *data = NULL;
    size_t size = 0;
    struct stat info = {0};
    kb_hasher_text(h, name[0] == '/' ? kb_path_base(name) : name);
    if (!kb_file_read(path, WHOLE_BYTES, &data, &size, NULL)) {
        kb_hasher_add(h, data, size);
    } else if (!stat(path, &info)) {
        kb_hasher_add(h, &info.st_size, sizeof info.st_size);
        kb_hasher_add(h, &info.st_mtim, sizeof info.st_mtim);
    }
    free(data);
    free(path);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void hash_reads(struct kb_permission *p, const char *dir, char *const *command)
{
    struct kb_hasher *h = kb_hasher_new();
    for (int i = 0; command[i]; i++)
        kb_hasher_text(h, command[i]);
    for (int i = 0; i < p->file_count; i++) {
        add_named(p, dir, &p->files[i]);
        kb_hasher_text(h, p->files[i].name);
        kb_hasher_add(h, p->content.data + p->files[i].at, p->files[i].size);
    }
    if (p->data_count)
        qsort(p->data, (size_t)p->data_count, sizeof *p->data, by_text);
    for (int i = 0; i < p->data_count; i++)
        hash_data(h, dir, p->data[i]);
    p->reads = kb_hasher_end(h);
}

int kb_permission_read(const char *dir, char *const *command, struct kb_permission *p, struct kb_error *e)
{
    *p = (struct kb_permission){0};
    if (find_files(p, dir, command, e)) {
        kb_permission_free(p);
        return -1;
    }
    kb_text_add(&p->content, "kbench-tui allows, 1\n");
    add_part(&p->content, dir, strlen(dir));
    for (int i = 0; command[i]; i++)
        add_part(&p->content, command[i], strlen(command[i]));
    kb_text_add(&p->content, "files\n");
    for (int i = 0; i < p->file_count; i++) {
        char *path = kb_path_join(dir, p->files[i].name), *data = NULL;
        int failed = kb_file_read(path, KB_PERMISSION_FILE_BYTES, &data, &p->files[i].size, e);
        if (!failed) {
            add_part(&p->content, p->files[i].name, strlen(p->files[i].name));
            add_part(&p->content, data, p->files[i].size);
            p->files[i].at = p->content.size - 1 - p->files[i].size;
        }
        free(data);
        free(path);
        if (failed) {
            kb_permission_free(p);
            return -1;
        }
    }
    p->hash = kb_hash_of(p->content.data, p->content.size);
    p->given = is_given(p);
    hash_reads(p, dir, command);
    return 0;
}

static void set_clean(cJSON *item, const char *key, const char *text)
{
    char *clean = kb_cleaned(text);
    kb_json_set_text(item, key, clean);
    free(clean);
}

void kb_permission_describe(const struct kb_permission *p, const char *dir, char *const *command, cJSON *out)
{
    enum { FILES_SHOWN = 64 };
    cJSON *files = cJSON_CreateArray(), *words = cJSON_CreateArray();
    for (int i = 0; command[i]; i++)
        cJSON_AddItemToArray(words, cJSON_CreateString(command[i]));
    for (int i = 0; i < p->file_count && i < FILES_SHOWN; i++) {
        cJSON *item = cJSON_CreateObject();
        set_clean(item, "name", p->files[i].name);
        kb_json_set_number(item, "bytes", (double)p->files[i].size);
        cJSON_AddItemToArray(files, item);
    }
    char *line = kb_command_line(command);
    set_clean(out, "line", line);
    kb_json_set_text(out, "dir", dir);
    kb_json_set_text(out, "hash", p->hash.hex);
    kb_json_set(out, "command", words);
    kb_json_set(out, "files", files);
    kb_json_set_number(out, "file_count", p->file_count);
    free(line);
}

int kb_permission_give(const struct kb_permission *p, struct kb_error *e)
{
    char *path = record_path(p, e), *dir = path ? kb_path_dir(path) : NULL;
    int failed = !path || kb_make_dirs(dir, e) || kb_file_replace(path, p->content.data, p->content.size, e);
    free(dir);
    free(path);
    return failed ? -1 : 0;
}

void kb_permission_free(struct kb_permission *p)
{
    for (int i = 0; i < p->file_count; i++)
        free(p->files[i].name);
    free(p->files);
    for (int i = 0; i < p->data_count; i++)
        free(p->data[i]);
    free(p->data);
    kb_text_free(&p->content);
    *p = (struct kb_permission){0};
}
