#include "verify/command_cache.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/sealed.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENTRY_BYTES = 32 << 20, ALL_BYTES = 512 << 20 };

char *kb_command_key(const struct kb_data *d, const struct kb_set *s, const struct kb_permission *p,
                     const char *description)
{
    struct kb_hasher *h = kb_hasher_new();
    kb_hasher_add(h, p->content.data, p->content.size);
    kb_hasher_text(h, p->reads.hex);
    kb_hasher_text(h, description);
    for (int i = 0; i < d->bench->arg_count; i++)
        if (s->input[i].address)
            kb_hasher_add(h, &s->hash[i], sizeof s->hash[i]);
    return kb_strdup(kb_hasher_end(h).hex);
}

static char *folder(void)
{
    char *cache = kb_cache_dir(), *dir = cache ? kb_path_join(cache, "reference") : NULL;
    free(cache);
    return dir;
}

static char *entry(const char *key)
{
    char *dir = folder(), *path = dir ? kb_path_join(dir, key) : NULL;
    free(dir);
    return path;
}

bool kb_command_cached(const char *key, char *results, size_t bytes, double *us, bool *foreign)
{
    char *path = entry(key), *data = NULL;
    size_t size = 0;
    enum kb_sealed sealed = path ? kb_sealed_read(path, bytes + sizeof *us, &data, &size) : KB_SEALED_NONE;
    bool found = sealed == KB_SEALED_FOUND && size == bytes + sizeof *us;
    *foreign = sealed == KB_SEALED_FOREIGN;
    if (found) {
        memcpy(us, data, sizeof *us);
        memcpy(results, data + sizeof *us, bytes);
    }
    free(data);
    free(path);
    return found;
}

struct kept {
    char *path;
    off_t bytes;
    struct timespec when;
};

static int by_age(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;
    return x->when.tv_sec != y->when.tv_sec ? (x->when.tv_sec > y->when.tv_sec) - (x->when.tv_sec < y->when.tv_sec)
                                            : (x->when.tv_nsec > y->when.tv_nsec) - (x->when.tv_nsec < y->when.tv_nsec);
}

static void prune(const char *dir)
{
    struct kept *list = NULL;
    int count = 0, capacity = 0;
    int64_t all = 0;
    DIR *d = opendir(dir);
    for (const struct dirent *e; d && (e = readdir(d));) {
        struct stat info;
        char *path = kb_path_join(dir, e->d_name);
        if (stat(path, &info) || !S_ISREG(info.st_mode)) {
            free(path);
            continue;
        }
        KB_GROW(list, count, capacity);
        list[count++] = (struct kept){path, info.st_size, info.st_mtim};
        all += info.st_size;
    }
    if (d)
        closedir(d);
    if (count)
        qsort(list, (size_t)count, sizeof *list, by_age);
    for (int i = 0; i < count; i++) {
        if (all > ALL_BYTES && !unlink(list[i].path))
            all -= list[i].bytes;
        free(list[i].path);
    }
    free(list);
}

void kb_command_keep(const char *key, const char *results, size_t bytes, double us)
{
    char *dir = folder(), *path = entry(key);
    if (path && bytes <= ENTRY_BYTES && !kb_make_dirs(dir, NULL)) {
        char *data = kb_alloc(bytes + sizeof us);
        memcpy(data, &us, sizeof us);
        memcpy(data + sizeof us, results, bytes);
        kb_sealed_write(path, data, bytes + sizeof us);
        free(data);
        prune(dir);
    }
    free(path);
    free(dir);
}
