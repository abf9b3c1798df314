#include "worker/sass_cache.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENTRY_MAX = 128 << 20, ENTRIES_MOST = 400, ENTRIES_KEPT = 300 };
static const char magic[] = "kbench sass 1 ";

char *kb_sass_cache_path(const void *cubin, size_t size, const char *version)
{
    char *dir = version ? kb_cache_dir() : NULL;
    if (!dir)
        return NULL;
    char *path = kb_format("%s/sass-%s-%s", dir, kb_hash_of(cubin, size).hex, version);
    free(dir);
    return path;
}

// "kbench sass 1 <hash of the rest>\n", then the listing.
bool kb_sass_cache_load(const char *path, struct kb_text *out)
{
    char *data;
    size_t size, head = sizeof magic - 1 + 32 + 1;
    if (!path || kb_file_read(path, ENTRY_MAX, &data, &size, NULL))
        return false;
    bool good = size > head && !memcmp(data, magic, sizeof magic - 1) && data[head - 1] == '\n' &&
                !memcmp(data + sizeof magic - 1, kb_hash_of(data + head, size - head).hex, 32);
    if (good)
        kb_text_bytes(out, data + head, size - head);
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
    struct kb_text whole = {0};
    if (!path)
        return;
    kb_text_addf(&whole, "%s%s\n", magic, kb_hash_of(listing->data, listing->size).hex);
    kb_text_bytes(&whole, listing->data, listing->size);
    if (!kb_file_replace(path, whole.data, whole.size, NULL))
        prune(path);
    kb_text_free(&whole);
}
