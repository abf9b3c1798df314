#include "watch/pathset.h"
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// FNV-1a, 64 bits.
static uint64_t path_hash(const char *path)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *path; path++)
        h = (h ^ (unsigned char)*path) * 0x100000001b3u;
    return h;
}

static size_t slot_of(const struct kb_pathset *set, const char *path)
{
    size_t i = (size_t)path_hash(path) & (set->slot_count - 1);
    while (set->slots[i] && strcmp(set->paths[set->slots[i] - 1], path))
        i = (i + 1) & (set->slot_count - 1);
    return i;
}

ptrdiff_t kb_pathset_find(const struct kb_pathset *set, const char *path)
{
    return set->slot_count ? (ptrdiff_t)set->slots[slot_of(set, path)] - 1 : -1;
}

static void grow(struct kb_pathset *set)
{
    if (set->slot_count && set->count * 2 < set->slot_count)
        return;
    set->slot_count = set->slot_count ? set->slot_count * 2 : 64;
    free(set->slots);
    set->slots = kb_alloc(set->slot_count * sizeof *set->slots);
    for (size_t i = 0; i < set->count; i++)
        set->slots[slot_of(set, set->paths[i])] = i + 1;
}

size_t kb_pathset_add(struct kb_pathset *set, const char *path, bool *is_new)
{
    grow(set);
    size_t slot = slot_of(set, path);
    if (is_new)
        *is_new = !set->slots[slot];
    if (!set->slots[slot]) {
        KB_GROW(set->paths, set->count, set->capacity);
        set->paths[set->count++] = kb_strdup(path);
        set->slots[slot] = set->count;
    }
    return set->slots[slot] - 1;
}

void kb_pathset_free(struct kb_pathset *set)
{
    for (size_t i = 0; i < set->count; i++)
        free(set->paths[i]);
    free(set->paths);
    free(set->slots);
    *set = (struct kb_pathset){0};
}
