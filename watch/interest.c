#include "base/file.h"
#include "base/memory.h"
#include "watch/watched.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct walk {
    struct kb_watched *source;
    struct kb_notifier *notifier;
    int tracked;
    bool *added;
    struct kb_error *error;
};

static bool has_step(const struct kb_watched *s, int dir, const char *name)
{
    for (size_t i = 0; i < s->interest_count; i++)
        if (s->interests[i].tracked < 0 && s->interests[i].dir == dir && !strcmp(s->interests[i].name, name))
            return true;
    return false;
}

static int add_interest(struct walk *w, const char *dir, const char *name, bool is_last)
{
    struct kb_watched *s = w->source;
    int index = kb_notifier_want(w->notifier, dir, w->added, w->error);
    if (index < 0)
        return -1;
    if (!is_last && has_step(s, index, name))
        return 0;
    KB_GROW(s->interests, s->interest_count, s->interest_capacity);
    s->interests[s->interest_count++] = (struct kb_interest){index, kb_strdup(name), is_last ? w->tracked : -1};
    return 0;
}

// Takes the first component off *rest; NULL at the end.
static char *next_component(char **rest)
{
    char *start = *rest + strspn(*rest, "/");
    size_t n = strcspn(start, "/");
    if (!n)
        return NULL;
    char *component = kb_strndup(start, n), *remaining = kb_strdup(start + n + strspn(start + n, "/"));
    free(*rest);
    *rest = remaining;
    return component;
}

static void replace(char **text, char *by)
{
    free(*text);
    *text = by;
}

// Puts what the link says before the rest of the way.
static void follow_link(const char *link, char **at, char **rest)
{
    char target[PATH_MAX];
    ssize_t n = readlink(link, target, sizeof target - 1);
    target[n < 0 ? 0 : n] = 0;
    if (target[0] == '/')
        replace(at, kb_strdup("/"));
    replace(rest, kb_format("%s/%s", target, *rest));
}

// One component of the way: 1 to go on, 0 at its end, -1 on failure.
static int walk_step(struct walk *w, const char *component, char **at, char **rest)
{
    if (!strcmp(component, "."))
        return 1;
    if (!strcmp(component, "..")) {
        replace(at, kb_path_dir(*at));
        return 1;
    }
    char *full = kb_path_join(*at, component);
    bool is_last = !**rest;
    struct stat info;
    int status = 1;
    if (lstat(full, &info)) {
        status = add_interest(w, *at, component, is_last) ? -1 : 0;
    } else if (S_ISLNK(info.st_mode)) {
        status = add_interest(w, *at, component, is_last) ? -1 : 1;
        follow_link(full, at, rest);
    } else if (is_last) {
        status = add_interest(w, *at, component, true) ? -1 : 0;
    } else {
        replace(at, kb_strdup(full));
    }
    free(full);
    return status;
}

// Follows the path through its symbolic links, as far as it exists.
static int walk_path(struct walk *w, const char *path)
{
    char *at = kb_strdup("/"), *rest = kb_strdup(path), *component = NULL;
    int status = 1;
    for (int steps = 0; steps < 1000 && status > 0 && (component = next_component(&rest)); steps++) {
        status = walk_step(w, component, &at, &rest);
        free(component);
        if (strlen(rest) > PATH_MAX) // links in a circle
            break;
    }
    free(at);
    free(rest);
    return status < 0 ? -1 : 0;
}

void kb_watched_drop_interests(struct kb_watched *s)
{
    for (size_t i = 0; i < s->interest_count; i++)
        free(s->interests[i].name);
    s->interest_count = 0;
}

int kb_watched_find_interests(struct kb_watched *s, struct kb_notifier *n, bool *added, struct kb_error *e)
{
    kb_watched_drop_interests(s);
    for (size_t i = 0; i < s->names.count; i++) {
        struct walk w = {s, n, (int)i, added, e};
        if (walk_path(&w, s->names.paths[i]))
            return -1;
    }
    return 0;
}

void kb_watched_keep_interests(const struct kb_watched *s, struct kb_notifier *n)
{
    for (size_t i = 0; i < s->interest_count; i++)
        n->dirs[s->interests[i].dir].wanted = true;
}
