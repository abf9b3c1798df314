#include "tui/samples.h"
#include "base/memory.h"
#include "jit/sass_samples.h"

#include <stdlib.h>
#include <string.h>

struct part { // the items of one kernel
    char *kernel;
    int first, count;
    double most;
};
struct kb_samples {
    struct kb_sass_sample *items; // by kernel, then offset; each offset once. Their names are gone with the JSON
    int count;
    struct part *parts; // by name
    int part_count, part_capacity;
};

static int by_place(const void *a, const void *b)
{
    const struct kb_sass_sample *x = a, *y = b;
    int order = strcmp(x->kernel, y->kernel);
    return order ? order : (x->offset > y->offset) - (x->offset < y->offset);
}

static int by_offset(const void *a, const void *b)
{
    const struct kb_sass_sample *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static void add(struct kb_samples *s, const struct kb_sass_sample *item)
{
    struct part *part = s->part_count ? &s->parts[s->part_count - 1] : NULL;
    if (!part || strcmp(part->kernel, item->kernel)) {
        KB_GROW(s->parts, s->part_count, s->part_capacity);
        part = &s->parts[s->part_count++];
        *part = (struct part){.kernel = kb_strdup(item->kernel), .first = s->count};
    }
    struct kb_sass_sample *last = part->count ? &s->items[s->count - 1] : NULL;
    if (last && last->offset == item->offset) {
        last->samples += item->samples;
    } else {
        last = &s->items[s->count++];
        *last = *item;
        part->count++;
    }
    part->most = last->samples > part->most ? last->samples : part->most;
}

struct kb_samples *kb_samples_make(const cJSON *json)
{
    struct kb_sass_sample *items;
    int count = kb_sass_samples_read(json, &items);
    if (!count) {
        free(items);
        return NULL;
    }
    struct kb_samples *s = kb_alloc(sizeof *s);
    qsort(items, (size_t)count, sizeof *items, by_place);
    s->items = items;
    for (int i = 0; i < count; i++) { // in place: no item lands behind the one that is read
        struct kb_sass_sample item = items[i];
        add(s, &item);
    }
    for (int i = 0; i < s->count; i++)
        s->items[i].kernel = NULL;
    return s;
}

void kb_samples_free(struct kb_samples *s)
{
    for (int i = 0; s && i < s->part_count; i++)
        free(s->parts[i].kernel);
    if (!s)
        return;
    free(s->parts);
    free(s->items);
    free(s);
}

double kb_samples_at(const struct kb_samples *s, const char *kernel, uint32_t offset, double *most)
{
    struct kb_sass_sample key = {.offset = offset};
    *most = 0;
    for (int i = 0; i < s->part_count; i++) {
        const struct part *p = &s->parts[i];
        if (strcmp(p->kernel, kernel))
            continue;
        const struct kb_sass_sample *found =
            bsearch(&key, s->items + p->first, (size_t)p->count, sizeof key, by_offset);
        *most = p->most;
        return found ? found->samples : 0;
    }
    return 0;
}
