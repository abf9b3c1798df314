// Flags and headers of the project around a source.
#include "loop/project.h"
#include "base/file.h"
#include "base/memory.h"
#include "bench/options.h"
#include "loop/project_parts.h"
#include "watch/include.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A project is looked through upwards from the file, and two folders deep from each of those; so many folders at most.
enum { MOST_UP = 8, MOST_FOLDERS = 3000, MOST_ROUNDS = 8 };

struct above { // the folders from the source's own up to the project's
    char *list[MOST_UP];
    int count;
};

// Ends at the root of a checkout, and before folders that belong to no project.
static void read_above(const char *source, struct above *out)
{
    const char *home = getenv("HOME"), *temporary = getenv("TMPDIR");
    char *dir = kb_path_dir(source);
    out->count = 0;
    while (out->count < MOST_UP && strcmp(dir, "/") && strcmp(dir, "/tmp") && (!home || strcmp(dir, home)) &&
           (!temporary || strcmp(dir, temporary))) {
        char *git = kb_path_join(dir, ".git"), *next = kb_path_dir(dir);
        bool top = access(git, F_OK) == 0;
        free(git);
        out->list[out->count++] = dir;
        dir = next;
        if (top)
            break;
    }
    free(dir);
}

static void free_above(struct above *a)
{
    for (int i = 0; i < a->count; i++)
        free(a->list[i]);
}

static bool holds(const char *dir, const char *name)
{
    char *path = kb_path_join(dir, name);
    bool there = kb_is_file(path);
    free(path);
    return there;
}

static int is_folder(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN);
}

// The first folder at or below dir that holds the name, the shallowest; NULL. Owned.
static char *folder_with(const char *dir, const char *name, int depth, int *budget)
{
    struct dirent **entries;
    char *found = NULL;
    if (--*budget < 0)
        return NULL;
    if (holds(dir, name))
        return kb_strdup(dir);
    int count = depth ? scandir(dir, &entries, is_folder, alphasort) : 0;
    for (int deep = 0; deep < depth; deep++)
        for (int i = 0; i < count && !found; i++) {
            char *below = kb_path_join(dir, entries[i]->d_name);
            found = folder_with(below, name, deep, budget);
            free(below);
        }
    for (int i = 0; i < count; i++)
        free(entries[i]);
    if (count > 0 || (depth && count == 0))
        free(entries);
    return found;
}

// Headers of the system and of toolkits are no project's.
static bool may_be_ours(const struct kb_include *include)
{
    const char *dot = strrchr(include->name, '.');
    return include->form != KB_INCLUDE_MACRO && !include->condition && include->name[0] != '/' && dot &&
           !holds("/usr/include", include->name);
}

static bool is_reached(const struct kb_snapshot *s, const struct kb_snapshot_file *from,
                       const struct kb_include *include)
{
    char *dir = kb_path_dir(from->path);
    bool found = include->form == KB_INCLUDE_QUOTED && holds(dir, include->name);
    free(dir);
    for (int i = 0; i < s->file_count && !found; i++) {
        char *tail = kb_format("/%s", include->name);
        found = kb_ends(s->files[i].path, tail);
        free(tail);
    }
    return found;
}

static bool is_listed(const struct kb_project *p, const char *dir)
{
    for (int i = 0; i < p->include_dir_count; i++)
        if (!strcmp(p->include_dirs[i], dir))
            return true;
    return false;
}

// true: a folder more.
static bool look_for(struct kb_project *p, const struct above *above, const char *name)
{
    int budget = MOST_FOLDERS;
    char *dir = NULL;
    for (int i = 0; i < above->count && !dir; i++)
        dir = folder_with(above->list[i], name, 2, &budget);
    if (!dir || is_listed(p, dir)) {
        free(dir);
        return false;
    }
    char *relative = kb_path_between(above->list[0], dir), *before = p->found;
    p->found = kb_format("%s%s%s in %s", before ? before : "", before ? ", " : "", name, relative);
    free(before);
    free(relative);
    kb_options_add(&p->include_dirs, &p->include_dir_count, dir);
    return true;
}

static bool look_for_missing(struct kb_project *p, const struct above *above, const struct kb_snapshot *s)
{
    bool more = false;
    for (int i = 0; i < s->file_count; i++) {
        struct kb_include_list list = {0};
        kb_include_scan(s->files[i].data, s->files[i].size, &list);
        for (size_t k = 0; k < list.include_count; k++)
            if (may_be_ours(&list.includes[k]) && !is_reached(s, &s->files[i], &list.includes[k]))
                more = look_for(p, above, list.includes[k].name) || more;
        kb_include_list_free(&list);
    }
    return more;
}

static int take(const char *source, const struct kb_reach *beside, const struct kb_project *p, struct kb_snapshot *out,
                struct kb_error *e)
{
    int count = beside->include_dir_count + p->include_dir_count;
    const char **dirs = kb_alloc(sizeof *dirs * (size_t)(count + 1));
    for (int i = 0; i < count; i++)
        dirs[i] =
            i < beside->include_dir_count ? beside->include_dirs[i] : p->include_dirs[i - beside->include_dir_count];
    struct kb_reach reach = *beside;
    reach.include_dirs = dirs;
    reach.include_dir_count = count;
    int status = kb_snapshot_take(source, &reach, out, e);
    free(dirs);
    return status;
}

static void drop_folders(struct kb_project *p)
{
    kb_free_list(p->include_dirs);
    p->include_dirs = NULL;
    p->include_dir_count = 0;
    free(p->found);
    p->found = NULL;
}

void kb_project_read(const char *source_path, const struct kb_reach *beside, struct kb_project *out)
{
    struct above above;
    struct kb_snapshot snapshot;
    *out = (struct kb_project){0};
    read_above(source_path, &above);
    for (int i = 0; i < above.count && !out->commands; i++)
        kb_project_commands(out, above.list[i], source_path);
    for (int round = 0; above.count && round < MOST_ROUNDS; round++) {
        if (take(source_path, beside, out, &snapshot, NULL))
            break;
        bool more = look_for_missing(out, &above, &snapshot);
        kb_snapshot_free(&snapshot);
        if (!more)
            break;
    }
    free_above(&above);
}

int kb_project_snapshot(const char *source_path, const struct kb_reach *beside, struct kb_project *p,
                        struct kb_snapshot *out, struct kb_error *e)
{
    if (p->include_dir_count && !take(source_path, beside, p, out, NULL))
        return 0;
    drop_folders(p);
    return take(source_path, beside, p, out, e);
}

void kb_project_free(struct kb_project *p)
{
    kb_free_list(p->include_dirs);
    kb_free_list(p->defines);
    kb_free_list(p->options);
    free(p->commands);
    free(p->found);
    *p = (struct kb_project){0};
}
