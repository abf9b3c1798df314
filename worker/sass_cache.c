#include "worker/sass_cache.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/sealed.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENTRY_MAX = 128 << 20, ENTRIES_MOST = 400, ENTRIES_KEPT = 300 };

char *kb_sass_cache_path(const void *cubin, size_t size, const char *version)
{
    char *dir = version ? kb_cache_dir() : NULL;
    if (!dir)
        return NULL;
    char *path = kb_format("%s/sass-%s-%s", dir, kb_hash_of(cubin, size).hex, version);
    free(dir);
    return path;
}

bool kb_sass_cache_load(const char *path, struct kb_text *out)
{
    char *data = NULL;
    size_t size;
    bool good = path && kb_sealed_read(path, ENTRY_MAX, &data, &size) == KB_SEALED_FOUND;
    if (good)
        kb_text_bytes(out, data, size);
    free(data);
    return good;
}

struct entry {
    char *path;
    struct timespec time;
};

static int by_age(const void *x, const void *y)
{
    const struct timespec *a = &((const struct entry *)x)->time, *b = &((const struct entry *)y)->time;
    return a->tv_sec != b->tv_sec ? (a->tv_sec > b->tv_sec) - (a->tv_sec < b->tv_sec)
                                  : (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

static int list_entries(const char *dir, struct entry **entries)
{
    int count = 0, capacity = 0;
    DIR *d = opendir(dir);
    *entries = NULL;
    for (struct dirent *item; d && (item = readdir(d));) {
        struct stat s;
        if (!kb_starts(item->d_name, "sass-") || fstatat(dirfd(d), item->d_name, &s, AT_SYMLINK_NOFOLLOW))
            continue;
        KB_GROW(*entries, count, capacity);
        (*entries)[count++] = (struct entry){kb_path_join(dir, item->d_name), s.st_mtim};
    }
    if (d)
        closedir(d);
    return count;
}

static void prune(const char *path)
{
    struct entry *entries;
    char *dir = kb_path_dir(path);
    int count = list_entries(dir, &entries);
    if (count > ENTRIES_MOST)
        qsort(entries, (size_t)count, sizeof *entries, by_age);
    for (int i = 0; i < count; i++) {
        if (count > ENTRIES_MOST && i < count - ENTRIES_KEPT)
            unlink(entries[i].path);
        free(entries[i].path);
    }
    free(entries);
    free(dir);
}

void kb_sass_cache_store(const char *path, const struct kb_text *listing)
{
    if (path && !kb_sealed_write(path, listing->data, listing->size))
        prune(path);
}
