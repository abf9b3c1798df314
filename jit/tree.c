#include "jit/tree.h"
#include "jit/scan.h"

#include "base/file.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char folder_prefix[] = "kbench-worker-";
static char *process_folder;
static pid_t process_owner;

static const char *temporary_dir(void)
{
    const char *dir = getenv("TMPDIR");
    return dir && dir[0] == '/' && kb_is_dir(dir) ? dir : "/tmp";
}

// Left behind by a process that was killed: its pid is gone, and nobody holds the folder's lock (a pid of another
// container may look gone while it is not).
static bool is_stale(const char *path, const char *name)
{
    struct stat info;
    long pid = strtol(name + strlen(folder_prefix), NULL, 10);
    if (pid <= 0 || lstat(path, &info) || !S_ISDIR(info.st_mode) || info.st_uid != geteuid())
        return false;
    if (kill((pid_t)pid, 0) == 0 || errno != ESRCH)
        return false;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool free_now = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0)
        close(fd);
    return free_now;
}

static void remove_stale(const char *dir)
{
    DIR *d = opendir(dir);
    for (struct dirent *entry; d && (entry = readdir(d));) {
        if (!kb_starts(entry->d_name, folder_prefix))
            continue;
        char *path = kb_path_join(dir, entry->d_name);
        if (is_stale(path, entry->d_name))
            kb_remove_tree(path);
        free(path);
    }
    if (d)
        closedir(d);
}

void kb_tree_remove_all(void)
{
    if (process_folder && process_owner == getpid())
        kb_remove_tree(process_folder);
    free(process_folder);
    process_folder = NULL;
}

static int open_process_folder(struct kb_error *e)
{
    if (process_folder && process_owner == getpid())
        return 0;
    const char *dir = temporary_dir();
    remove_stale(dir);
    char *path = kb_format("%s/%s%d-XXXXXX", dir, folder_prefix, (int)getpid());
    if (!mkdtemp(path)) {
        int status = kb_fail(e, dir, "set TMPDIR to a folder that can be written",
                             "cannot create a temporary folder: %s", strerror(errno));
        free(path);
        return status;
    }
    int lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); // held until the process ends
    if (lock >= 0)
        flock(lock, LOCK_EX | LOCK_NB);
    if (!process_owner)
        atexit(kb_tree_remove_all);
    free(process_folder);
    process_folder = path;
    process_owner = getpid();
    return 0;
}

char *kb_tree_folder(struct kb_error *e)
{
    static unsigned number;
    if (open_process_folder(e))
        return NULL;
    char *dir = kb_format("%s/%u", process_folder, ++number);
    if (mkdir(dir, 0700) == 0)
        return dir;
    kb_fail(e, dir, "free some space in the temporary folder", "cannot create a folder: %s", strerror(errno));
    free(dir);
    return NULL;
}

int kb_tree_check_name(const char *name, struct kb_error *e)
{
    static const char remedy[] = "file names must be relative and stay inside the bench";
    if (!name || !name[0])
        return kb_fail(e, NULL, remedy, "a file without a name");
    if (name[0] == '/')
        return kb_fail(e, name, remedy, "an absolute file name");
    for (const char *p = name; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return kb_fail(e, NULL, remedy, "a control character (0x%02x) in a file name", (unsigned char)*p);
    for (const char *part = name; *part;) {
        size_t n = strcspn(part, "/");
        if (n == 0 || (n == 2 && !strncmp(part, "..", 2)) || (n == 1 && part[0] == '.' && part[1]))
            return kb_fail(e, name, remedy, "a file name with \"%.*s\" as a part", (int)n, part);
        part += n + (part[n] == '/');
    }
    return strlen(name) > 1024 ? kb_fail(e, NULL, remedy, "a file name of %zu bytes", strlen(name)) : 0;
}

char *kb_tree_marked(const char *name, const char *data, size_t size, size_t *marked_size)
{
    struct kb_text t = {0};
    size_t mark = kb_scan_mark(data, size);
    kb_text_add(&t, "#line 1 \"");
    for (const char *p = name; *p; p++) {
        if (*p == '"' || *p == '\\')
            kb_text_add(&t, "\\");
        kb_text_bytes(&t, p, 1);
    }
    kb_text_add(&t, "\"\n");
    kb_text_bytes(&t, data + mark, size - mark);
    *marked_size = t.size;
    return kb_text_take(&t);
}

int kb_tree_write(const struct kb_tree *t, const char *name, const void *data, size_t size, struct kb_error *e)
{
    char *path = kb_path_join(t->dir, name), *dir = kb_path_dir(path);
    int status = kb_make_dirs(dir, e);
    FILE *f = status ? NULL : fopen(path, "wxe");
    if (!status && !f)
        status = kb_fail(e, name, NULL, "cannot write it for the compiler: %s", strerror(errno));
    if (f && fwrite(data, 1, size, f) != size)
        status = kb_fail(e, name, "free some space in the temporary folder", "cannot write it for the compiler: %s",
                         strerror(errno));
    if (f && fclose(f) && !status)
        status = kb_fail(e, name, NULL, "cannot write it for the compiler: %s", strerror(errno));
    free(path);
    free(dir);
    return status;
}

int kb_tree_replace(const struct kb_tree *t, const char *name, const void *data, size_t size, struct kb_error *e)
{
    static const char next[] = ".kbench-next/file"; // in a folder that nobody watches
    int status = kb_tree_write(t, next, data, size, e);
    char *from = kb_path_join(t->dir, next), *to = kb_path_join(t->dir, name);
    if (!status && rename(from, to))
        status = kb_fail(e, name, NULL, "cannot write it for the compiler: %s", strerror(errno));
    free(from);
    free(to);
    return status;
}

int kb_tree_open(struct kb_tree *t, const struct kb_compile_request *r, struct kb_error *e)
{
    t->dir = NULL;
    for (int i = 0; i < r->file_count; i++)
        if (kb_tree_check_name(r->files[i].name, e))
            return -1;
    for (int i = 0; i < r->include_dir_count; i++)
        if (strcmp(r->include_dirs[i], ".") && kb_tree_check_name(r->include_dirs[i], e))
            return -1;
    t->dir = kb_tree_folder(e);
    int status = t->dir ? 0 : -1;
    for (int i = 0; !status && i < r->file_count; i++) {
        size_t size;
        char *text = kb_tree_marked(r->files[i].name, r->files[i].data, r->files[i].size, &size);
        status = kb_tree_write(t, r->files[i].name, text, size, e);
        free(text);
    }
    if (status)
        kb_tree_close(t);
    return status;
}

void kb_tree_close(struct kb_tree *t)
{
    if (t->dir)
        kb_remove_tree(t->dir);
    free(t->dir);
    t->dir = NULL;
}

char *kb_tree_hide(const struct kb_tree *t, const char *text)
{
    struct kb_text out = {0};
    size_t n = strlen(t->dir);
    for (const char *hit; (hit = strstr(text, t->dir));) {
        kb_text_bytes(&out, text, (size_t)(hit - text));
        text = hit + n + (hit[n] == '/');
    }
    kb_text_add(&out, text);
    return kb_text_take(&out);
}
