// The commit of a folder, read from .git by hand: gitrepository-layout(5), gitformat-pack "packed-refs".
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "loop/history_parts.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_GIT_FILE = 64 << 20, MAX_REF_STEPS = 5 };

// A small file without the blanks at its end; owned, NULL if it cannot be read.
static char *read_line(const char *dir, const char *name)
{
    char *path = kb_path_join(dir, name), *text = NULL;
    size_t size = 0;
    if (kb_history_read(path, MAX_GIT_FILE, &text, &size, NULL))
        text = NULL;
    free(path);
    if (text)
        text[strcspn(text, "\r\n")] = 0;
    return text;
}

// SHA-1 or SHA-256, in hexadecimal.
static bool is_commit(const char *text, size_t n)
{
    return (n == 40 || n == 64) && strspn(text, "0123456789abcdef") >= n;
}

// `.git` is a folder, or (worktrees, submodules) a file that says where it is.
static char *git_dir_of(const char *dir)
{
    char *path = kb_path_join(dir, ".git"), *found = NULL;
    if (kb_is_dir(path)) {
        char *head = kb_path_join(path, "HEAD");
        if (kb_is_file(head))
            found = kb_strdup(path);
        free(head);
    } else {
        char *line = read_line(dir, ".git");
        if (line && kb_starts(line, "gitdir: "))
            found = kb_path_join(dir, line + 8);
        free(line);
    }
    free(path);
    return found;
}

static char *find_git_dir(const char *dir)
{
    char *at = kb_path_clean(dir), *found = NULL;
    while (!(found = git_dir_of(at)) && at[1]) {
        char *parent = kb_path_dir(at);
        free(at);
        at = parent;
    }
    free(at);
    return found;
}

static char *common_dir_of(const char *git_dir)
{
    char *line = read_line(git_dir, "commondir");
    char *common = line ? kb_path_join(git_dir, line) : kb_strdup(git_dir);
    free(line);
    return common;
}

static char *packed(const char *common, const char *ref)
{
    char *path = kb_path_join(common, "packed-refs"), *text = NULL, *found = NULL, *rest = NULL;
    size_t size = 0;
    if (!kb_history_read(path, MAX_GIT_FILE, &text, &size, NULL)) {
        for (char *line = strtok_r(text, "\n", &rest); line && !found; line = strtok_r(NULL, "\n", &rest)) {
            char *blank = strchr(line, ' ');
            if (blank && !strcmp(blank + 1, ref) && is_commit(line, (size_t)(blank - line)))
                found = kb_strndup(line, (size_t)(blank - line));
        }
        free(text);
    }
    free(path);
    return found;
}

static char *resolve(const char *git_dir, const char *common, const char *name, int steps)
{
    char *line = read_line(git_dir, name), *commit = NULL;
    if (!line && strcmp(git_dir, common))
        line = read_line(common, name);
    if (!line)
        return packed(common, name);
    if (kb_starts(line, "ref: ") && steps < MAX_REF_STEPS && !strstr(line, ".."))
        commit = resolve(git_dir, common, line + 5, steps + 1);
    else if (is_commit(line, strlen(line)))
        commit = kb_strdup(line);
    free(line);
    return commit;
}

char *kb_history_git(const char *dir)
{
    char *git_dir = find_git_dir(dir);
    if (!git_dir)
        return NULL;
    char *common = common_dir_of(git_dir), *commit = resolve(git_dir, common, "HEAD", 0);
    free(common);
    free(git_dir);
    return commit;
}
