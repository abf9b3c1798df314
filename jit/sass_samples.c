#include "jit/sass_samples.h"
#include "base/json.h"
#include "base/memory.h"

struct list {
    struct kb_sass_sample *items;
    int count, capacity;
};

static void add(struct list *l, const char *kernel, const cJSON *offset, const cJSON *samples)
{
    bool good = kernel && cJSON_IsNumber(offset) && cJSON_IsNumber(samples) && offset->valuedouble >= 0 &&
                offset->valuedouble <= UINT32_MAX && samples->valuedouble > 0;
    if (!good)
        return;
    KB_GROW(l->items, l->count, l->capacity);
    l->items[l->count++] = (struct kb_sass_sample){kernel, (uint32_t)offset->valuedouble, samples->valuedouble};
}

int kb_sass_samples_read(const cJSON *json, struct kb_sass_sample **items)
{
    struct list l = {0};
    const cJSON *item, *pc;
    if (cJSON_IsArray(json))
        cJSON_ArrayForEach (item, json)
            add(&l, cJSON_GetStringValue(cJSON_GetArrayItem(item, 0)), cJSON_GetArrayItem(item, 1),
                cJSON_GetArrayItem(item, 2));
    cJSON_ArrayForEach (item, kb_json_get(json, "kernels")) {
        const char *name = kb_json_text(item, "name", NULL);
        cJSON_ArrayForEach (pc, kb_json_get(item, "pcs"))
            add(&l, name, cJSON_GetArrayItem(pc, 0), cJSON_GetArrayItem(pc, 1));
    }
    *items = l.items;
    return l.count;
}
