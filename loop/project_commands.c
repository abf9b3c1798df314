// compile_commands.json: what CMake, Bear and others write about how each file of a project is compiled.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "bench/options.h"
#include "loop/project_parts.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 64 << 20, MOST_OPTION_BYTES = 1 << 20 };

static char *file_in(const char *dir, const char *below)
{
    char *folder = kb_path_join(dir, below), *path = kb_path_join(folder, "compile_commands.json");
    free(folder);
    if (kb_is_file(path))
        return path;
    free(path);
    return NULL;
}

// In the folder itself, or in one where builds usually go.
static char *commands_of(const char *dir)
{
    char *found = file_in(dir, ".");
    DIR *list = found ? NULL : opendir(dir);
    for (struct dirent *entry; list && !found && (entry = readdir(list));)
        if (kb_starts(entry->d_name, "build") || kb_starts(entry->d_name, "cmake-build") ||
            !strcmp(entry->d_name, "out"))
            found = file_in(dir, entry->d_name);
    if (list)
        closedir(list);
    return found;
}

static char *place(const char *dir, const char *path)
{
    char *joined = kb_path_join(dir, path), *clean = kb_path_clean(joined);
    free(joined);
    return clean;
}

static size_t common(const char *a, const char *b)
{
    size_t n = 0, slash = 0;
    for (; a[n] && a[n] == b[n]; n++)
        slash = a[n] == '/' ? n : slash;
    return slash;
}

// The file's own entry; of a header, that of the CUDA source nearest to it.
static const cJSON *entry_of(const cJSON *list, const char *path)
{
    const cJSON *item, *best = NULL;
    size_t most = 0;
    cJSON_ArrayForEach (item, list) {
        char *file = place(kb_json_text(item, "directory", "/"), kb_json_text(item, "file", ""));
        bool same = !strcmp(file, path);
        size_t shared = kb_ends(file, ".cu") ? common(file, path) + 1 : 0;
        free(file);
        if (same)
            return item;
        if (shared > most) {
            most = shared;
            best = item;
        }
    }
    return best;
}

static char **words_of(const cJSON *entry, int *count)
{
    const cJSON *arguments = kb_json_get(entry, "arguments"), *word;
    char **words = NULL;
    *count = 0;
    cJSON_ArrayForEach (word, arguments) {
        if (cJSON_IsString(word))
            kb_options_add(&words, count, kb_strdup(word->valuestring));
    }
    if (!*count)
        kb_options_split(kb_json_text(entry, "command", ""), &words, count);
    return words;
}

static void add_folder(struct kb_project *p, const char *dir, const char *value)
{
    char *path = place(dir, value);
    if (kb_is_dir(path))
        kb_options_add(&p->include_dirs, &p->include_dir_count, path);
    else
        free(path);
}

// "arch=compute_90a,code=sm_90a", "sm_80", "compute_80": the newest.
static void take_arch(struct kb_project *p, const char *value)
{
    int best = 0, number;
    sscanf(p->arch, "sm_%d", &best);
    for (const char *at = value; *at; at++) {
        bool starts = kb_starts(at, "sm_") || kb_starts(at, "compute_");
        const char *digits = starts ? strchr(at, '_') + 1 : NULL;
        size_t n = digits ? strspn(digits, "0123456789") : 0;
        n += n && (digits[n] == 'a' || digits[n] == 'f');
        if (n && n < 8 && (number = atoi(digits)) >= best) {
            if (number > best || digits[n - 1] == 'a')
                snprintf(p->arch, sizeof p->arch, "sm_%.*s", (int)n, digits);
            best = number;
        }
    }
}

// Those that change what the code means or is; clang's words as nvcc's.
static void take_code_option(struct kb_project *p, const char *word)
{
    static const struct {
        const char *word, *as; // NULL: itself
    } kept[] = {{"-use_fast_math", NULL},
                {"--use_fast_math", NULL},
                {"-ffast-math", "-use_fast_math"},
                {"--expt-relaxed-constexpr", NULL},
                {"-expt-relaxed-constexpr", "--expt-relaxed-constexpr"},
                {"--extended-lambda", NULL},
                {"-extended-lambda", "--extended-lambda"},
                {"--expt-extended-lambda", "--extended-lambda"},
                {"-default-device", NULL}};
    for (size_t i = 0; i < KB_COUNT(kept); i++)
        if (!strcmp(word, kept[i].word))
            kb_options_add(&p->options, &p->option_count, kb_strdup(kept[i].as ? kept[i].as : word));
    if (kb_starts(word, "-std=") || kb_starts(word, "--std="))
        kb_options_add(&p->options, &p->option_count,
                       kb_format("-std=%s%s", kb_starts(strchr(word, '=') + 1, "gnu") ? "c" : "",
                                 strchr(word, '=') + (kb_starts(strchr(word, '=') + 1, "gnu") ? 4 : 1)));
}

static void take_words(struct kb_project *p, const char *dir, const char *const *words, int count, int depth);

static void take_file(struct kb_project *p, const char *dir, const char *name, int depth)
{
    char *path = place(dir, name), *text = NULL, **words = NULL;
    size_t size;
    int count = 0;
    if (!kb_file_read(path, MOST_OPTION_BYTES, &text, &size, NULL))
        kb_options_split(text, &words, &count);
    if (count && depth < 4)
        take_words(p, dir, (const char *const *)words, count, depth + 1);
    kb_free_list(words);
    free(text);
    free(path);
}

static void take_words(struct kb_project *p, const char *dir, const char *const *words, int count, int depth)
{
    for (int i = 0; i < count;) {
        struct kb_option o = kb_option_read(words + i, count - i);
        bool arch = kb_starts(words[i], "-arch") || strstr(words[i], "gpu-arch") || kb_starts(words[i], "-gencode") ||
                    kb_starts(words[i], "--generate-code");
        if (arch)
            take_arch(p, *o.value ? o.value : words[i]);
        else if (o.kind == KB_OPTION_FOLDER)
            add_folder(p, dir, o.value);
        else if (o.kind == KB_OPTION_DEFINE && !strpbrk(o.value, "$`"))
            kb_options_add(&p->defines, &p->define_count, kb_strdup(o.value));
        else if (o.kind == KB_OPTION_FILE)
            take_file(p, dir, o.value, depth);
        else
            take_code_option(p, words[i]);
        i += o.words;
    }
}

bool kb_project_commands(struct kb_project *p, const char *dir, const char *source)
{
    char *path = commands_of(dir), *text = NULL;
    size_t size;
    if (!path || kb_file_read(path, MOST_BYTES, &text, &size, NULL)) {
        free(path);
        return false;
    }
    cJSON *list = cJSON_ParseWithLength(text, size);
    const cJSON *entry = entry_of(list, source);
    if (entry) {
        int count;
        char **words = words_of(entry, &count);
        take_words(p, kb_json_text(entry, "directory", dir), (const char *const *)words, count, 0);
        kb_free_list(words);
        p->commands = kb_strdup(path);
    }
    cJSON_Delete(list);
    free(text);
    free(path);
    return entry != NULL;
}
