// The contract of a bench: a hash over what decides which results are right and how fast they should be.
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench/bench_internal.h"

#include <stdlib.h>
#include <string.h>

static int by_key(const void *a, const void *b)
{
    return strcmp((*(const cJSON *const *)a)->string, (*(const cJSON *const *)b)->string);
}

static void canonical(struct kb_text *out, const cJSON *item, const char *skip);

static void canonical_object(struct kb_text *out, const cJSON *item, const char *skip)
{
    int n = 0;
    const cJSON **members = kb_alloc(sizeof *members * (size_t)(cJSON_GetArraySize(item) + 1));
    for (const cJSON *child = item->child; child; child = child->next)
        if (!kb_is_comment(child) && !(skip && !strcmp(child->string, skip)))
            members[n++] = child;
    qsort(members, (size_t)n, sizeof *members, by_key);
    kb_text_add(out, "{");
    for (int i = 0; i < n; i++) {
        kb_text_addf(out, "%zu:%s=", strlen(members[i]->string), members[i]->string);
        canonical(out, members[i], NULL);
    }
    kb_text_add(out, "}");
    free(members);
}

// Without blanks, members by name, no comments, numbers in one form, texts by length. skip: a key left out in the
// members of a list.
static void canonical(struct kb_text *out, const cJSON *item, const char *skip)
{
    if (cJSON_IsObject(item)) {
        canonical_object(out, item, skip);
    } else if (cJSON_IsArray(item)) {
        kb_text_add(out, "[");
        for (const cJSON *child = item->child; child; child = child->next) {
            canonical(out, child, skip);
            kb_text_add(out, ",");
        }
        kb_text_add(out, "]");
    } else if (cJSON_IsNumber(item)) {
        if (item->valuestring) // an integer that no double holds
            kb_text_add(out, item->valuestring);
        else
            kb_text_addf(out, "%.17g", item->valuedouble);
    } else if (cJSON_IsString(item)) {
        kb_text_addf(out, "%zu\"%s", strlen(item->valuestring), item->valuestring);
    } else {
        kb_text_add(out, cJSON_IsTrue(item) ? "true" : cJSON_IsFalse(item) ? "false" : "null");
    }
}

struct kb_hash kb_bench_contract(const struct kb_bench *b, const struct kb_contract_part *parts, int count)
{
    static const char *const keys[] = {"args", "cases", "params", "reference", "tolerance", "work", "goal", "accept"};
    struct kb_hasher *h = kb_hasher_new();
    for (size_t i = 0; i < KB_COUNT(keys); i++) {
        struct kb_text text = {0};
        const cJSON *item = kb_json_get(b->json, keys[i]);
        if (!strcmp(keys[i], "accept") && !cJSON_GetArraySize(item))
            continue; // a bench without keeps the hash that it always had
        if (!item && !strcmp(keys[i], "tolerance"))
            kb_text_add(&text, "4\"auto");
        else if (item)
            canonical(&text, item, !strcmp(keys[i], "cases") ? "name" : NULL);
        kb_hasher_text(h, keys[i]);
        kb_hasher_text(h, text.data);
        kb_text_free(&text);
    }
    int version = KB_TOLERANCE_VERSION;
    kb_hasher_add(h, &version, sizeof version);
    for (int i = 0; i < count; i++) {
        kb_hasher_text(h, parts[i].name);
        kb_hasher_add(h, parts[i].data, parts[i].size);
    }
    return kb_hasher_end(h);
}
