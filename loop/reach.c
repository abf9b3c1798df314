// By what each source reaches its headers: include folders, the options and macros of its variant, the environment that
// nvcc looks at. It belongs to what is watched, so that a file reached in any of these ways makes a new version.
#include "base/file.h"
#include "bench/options.h"
#include "loop/parts.h"

#include <stdlib.h>
#include <string.h>

static void add(struct kb_reach_words *w, char *owned)
{
    KB_GROW(w->list, w->count, w->capacity);
    w->list[w->count++] = owned;
}

static void add_placed(struct kb_reach_words *w, const char *const *options, int count, const char *dir)
{
    char **placed = NULL;
    int n = 0;
    kb_options_place(options, count, dir, &placed, &n);
    for (int i = 0; i < n; i++)
        add(w, placed[i]);
    free(placed);
    for (int i = 0; i < count;) { // a header may also be found by the folders
        struct kb_option o = kb_option_read(options + i, count - i);
        if (o.kind == KB_OPTION_HEADER && *o.value && *o.value != '/')
            add(w, kb_format("-include=%s/%s", dir, o.value));
        i += o.words;
    }
}

// Only macros that may stand for a header matter: a variant is not read again for another tile's size.
static bool may_name_header(const char *value)
{
    return strpbrk(value, "\"<") != NULL;
}

static bool is_named(const struct kb_variant *v, const char *value)
{
    for (int i = 0; i < v->define_count; i++)
        if (v->defines[i].value && may_name_header(v->defines[i].value) && strstr(value, v->defines[i].name))
            return true;
    return false;
}

static void add_defines(const struct kb_session *s, const struct kb_variant *v, struct kb_reach_words *w)
{
    for (int i = 0; i < v->define_count; i++) {
        const char *value = v->defines[i].value ? v->defines[i].value : "";
        if (may_name_header(value) || is_named(v, value))
            add(w, kb_format("%s=%s", v->defines[i].name, value));
    }
    for (int i = 0; i < s->options.define_count; i++)
        if (may_name_header(s->defines[i]))
            add(w, kb_strdup(s->defines[i]));
}

bool kb_may_use_nvcc(const struct kb_variant *v)
{
    return !v->compiler || strcmp(v->compiler, "nvrtc") != 0;
}

void kb_reach_of(const struct kb_session *s, const struct kb_variant *v, struct kb_reach_words *w)
{
    int dirs;
    char **owned = kb_include_dirs(s, &dirs);
    for (int i = 0; i < dirs; i++)
        add(w, owned[i]);
    free(owned);
    w->dirs = w->count;
    add_placed(w, (const char *const *)v->options, v->option_count, s->bench_dir);
    if (kb_may_use_nvcc(v))
        add_placed(w, (const char *const *)s->nvcc_options, s->nvcc_option_count, "/");
    w->options = w->count - w->dirs;
    add_defines(s, v, w);
    w->defines = w->count - w->dirs - w->options;
}

bool kb_reach_same(const struct kb_reach_words *a, const struct kb_reach_words *b)
{
    bool same = a->dirs == b->dirs && a->options == b->options && a->defines == b->defines;
    for (int i = 0; same && i < a->count; i++)
        same = !strcmp(a->list[i], b->list[i]);
    return same;
}

struct kb_reach kb_reach_view(const struct kb_reach_words *w)
{
    const char *const *list = (const char *const *)w->list;
    return (struct kb_reach){
        list, w->dirs, list ? list + w->dirs : NULL, w->options, list ? list + w->dirs + w->options : NULL, w->defines};
}

void kb_reach_free(struct kb_reach_words *w)
{
    for (int i = 0; i < w->count; i++)
        free(w->list[i]);
    free(w->list);
    *w = (struct kb_reach_words){0};
}

// What a compile request gets as options: folders and headers of the bench by their whole paths, since compilers do not
// run in its folder. A header that was not found there is left to the include folders.
char **kb_reach_options(const struct kb_session *s, const struct kb_variant *v, const struct kb_snapshot *snapshot,
                        int *count)
{
    char **words = NULL;
    kb_options_place((const char *const *)v->options, v->option_count, s->bench_dir, &words, count);
    for (int i = 0; i < *count;) {
        struct kb_option o = kb_option_read((const char *const *)words + i, *count - i);
        int at = i + o.words - 1;
        char *joined = o.kind == KB_OPTION_HEADER ? kb_path_join(s->bench_dir, o.value) : NULL;
        char *path = joined ? kb_path_clean(joined) : NULL;
        for (int k = 1; path && k < snapshot->file_count; k++)
            if (!strcmp(snapshot->files[k].path, path)) {
                char *word = kb_format("%.*s%s", (int)(o.words == 2 ? 0 : o.value - o.word), o.word, path);
                free(words[at]);
                words[at] = word;
                break;
            }
        free(joined);
        free(path);
        i += o.words;
    }
    return words;
}

// The environment

static void add_flags(struct kb_session *s, const char *name)
{
    const char *value = getenv(name);
    if (value && *value)
        kb_options_split(value, &s->nvcc_options, &s->nvcc_option_count);
}

// "/a:/b", as the host's preprocessor takes it.
static void add_folders(struct kb_session *s, const char *name)
{
    const char *value = getenv(name);
    for (const char *p = value ? value : ""; *p;) {
        size_t n = strcspn(p, ":");
        if (*p == '/')
            kb_options_add(&s->nvcc_options, &s->nvcc_option_count, kb_format("-I%.*s", (int)n, p));
        p += n + (p[n] == ':');
    }
}

static void add_set(struct kb_text *all, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (getenv(names[i]) && *getenv(names[i]))
            kb_text_addf(all, "%s=%s\n", names[i], getenv(names[i]));
}

void kb_reach_environment(struct kb_session *s)
{
    static const char *const folders[] = {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"};
    static const char *const others[] = {"NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN"};
    struct kb_text all = {0};
    add_flags(s, others[0]);
    add_flags(s, others[1]);
    for (size_t i = 0; i < KB_COUNT(folders); i++)
        add_folders(s, folders[i]);
    add_set(&all, others, KB_COUNT(others));
    s->nvcc_flags = kb_text_take(&all);
    add_set(&all, folders, KB_COUNT(folders));
    s->nvcc_folders = kb_text_take(&all);
}
