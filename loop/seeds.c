// Seeds beside the session's own: how many each version is verified with, and which inputs a version failed on before.
// The latter are kept in `.kbench/failing_seeds.json`, by variant and contract, and tried first until a few versions
// have passed them.
#include "base/hash.h"
#include "loop/io.h"
#include "loop/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KEPT = 3, PASSES_TO_FORGET = 3, FILE_MOST = 1 << 20 };

void kb_seeds_start(struct kb_session *s)
{
    s->failing_seeds = cJSON_CreateArray();
    if (s->options.no_history)
        return;
    char *path = kb_format("%s/.kbench/%s", s->bench_dir, KB_HISTORY_SEEDS);
    kb_io_read(s->io, path, FILE_MOST);
    free(path);
}

void kb_seeds_free(struct kb_session *s)
{
    cJSON_Delete(s->failing_seeds);
}

// A file that is not there, or that nobody can read any more, is an empty list.
void kb_seeds_read(struct kb_session *s, const char *text)
{
    cJSON *list = text ? cJSON_Parse(text) : NULL;
    if (cJSON_IsArray(list) && !cJSON_GetArraySize(s->failing_seeds)) {
        cJSON_Delete(s->failing_seeds);
        s->failing_seeds = list;
        list = NULL;
    }
    cJSON_Delete(list);
}

static void write_list(struct kb_session *s)
{
    if (s->options.no_history)
        return;
    char *text = kb_json_line(s->failing_seeds);
    kb_records_seeds(s, text);
    free(text);
}

static bool is_of(const struct kb_session *s, const struct kb_build *b, const cJSON *item)
{
    return !strcmp(kb_json_text(item, "variant", ""), b->name) &&
           !strcmp(kb_json_text(item, "contract", ""), s->contract);
}

static bool is_same(const cJSON *item, const char *seed, const char *set, int64_t index)
{
    return !strcmp(kb_json_text(item, "seed", ""), seed) && !strcmp(kb_json_text(item, "set", ""), set) &&
           kb_json_int(item, "case", -1) == index;
}

// The entry's index, or -1.
static int find(const struct kb_session *s, const struct kb_build *b, const char *seed, const char *set, int64_t index)
{
    int i = 0;
    const cJSON *item;
    cJSON_ArrayForEach (item, s->failing_seeds) {
        if (is_of(s, b, item) && is_same(item, seed, set, index))
            return i;
        i++;
    }
    return -1;
}

// One for each version: the first case that it failed.
static bool is_noted(const struct kb_session *s, const struct kb_build *b)
{
    const cJSON *item;
    cJSON_ArrayForEach (item, s->failing_seeds) {
        if (is_of(s, b, item) && !strcmp(kb_json_text(item, "key", ""), b->key))
            return true;
    }
    return false;
}

static void forget_oldest(struct kb_session *s, const struct kb_build *b)
{
    int count = 0;
    for (int i = 0; i < cJSON_GetArraySize(s->failing_seeds); i++)
        if (is_of(s, b, cJSON_GetArrayItem(s->failing_seeds, i)) && ++count > MOST_KEPT)
            cJSON_DeleteItemFromArray(s->failing_seeds, i--);
}

static void case_failed(struct kb_session *s, struct kb_build *b, const cJSON *event)
{
    const cJSON *failure = kb_json_get(event, "failure");
    const char *seed = kb_json_text(failure, "seed", NULL), *set = kb_json_text(failure, "set", NULL);
    int64_t index = kb_json_int(event, "case", -1);
    // Inputs that differ from others in a part, or that verify added, are made by it in any case.
    if (!seed || !set || kb_json_text(failure, "base", NULL) || kb_json_text(failure, "inputs", NULL) || is_noted(s, b))
        return;
    int known = find(s, b, seed, set, index);
    if (known >= 0)
        cJSON_DeleteItemFromArray(s->failing_seeds, known);
    cJSON *item = cJSON_CreateObject();
    kb_json_set_text(item, "variant", b->name);
    kb_json_set_text(item, "contract", s->contract);
    kb_json_set_text(item, "key", b->key);
    kb_json_set_text(item, "seed", seed);
    kb_json_set_number(item, "case", (double)index);
    kb_json_set_text(item, "set", set);
    kb_json_set_number(item, "passes", 0);
    cJSON_InsertItemInArray(s->failing_seeds, 0, item);
    forget_oldest(s, b);
    write_list(s);
}

static void seed_told(struct kb_session *s, struct kb_build *b, const cJSON *event)
{
    if (!kb_json_bool(event, "again", false) || strcmp(kb_json_text(event, "status", ""), "pass"))
        return;
    int i = find(s, b, kb_json_text(event, "seed", ""), kb_json_text(event, "set", ""), kb_json_int(event, "case", -1));
    if (i < 0)
        return;
    cJSON *item = cJSON_GetArrayItem(s->failing_seeds, i);
    int64_t passes = kb_json_int(item, "passes", 0) + 1;
    if (passes >= PASSES_TO_FORGET)
        cJSON_DeleteItemFromArray(s->failing_seeds, i);
    else
        kb_json_set_number(item, "passes", (double)passes);
    write_list(s);
}

void kb_seeds_event(struct kb_session *s, struct kb_build *b, const cJSON *event)
{
    const char *type = kb_json_text(event, "type", "");
    if (!strcmp(type, "seed"))
        seed_told(s, b, event);
    else if (!strcmp(type, "case") && !strcmp(kb_json_text(event, "rung", ""), "verify") &&
             !strcmp(kb_json_text(event, "status", ""), "fail"))
        case_failed(s, b, event);
}

void kb_seeds_fields(const struct kb_session *s, const struct kb_build *b, cJSON *head)
{
    cJSON *again = cJSON_AddArrayToObject(head, "again"), *seeds = cJSON_AddArrayToObject(head, "seeds");
    const cJSON *item;
    cJSON_ArrayForEach (item, s->failing_seeds) {
        if (is_of(s, b, item))
            cJSON_AddItemToArray(again, cJSON_Duplicate(item, true));
    }
    for (int i = 1; i < s->options.seeds; i++) {
        char text[24];
        uint64_t seed = kb_mix64(s->seed + (uint64_t)i * 0x9e3779b97f4a7c15);
        snprintf(text, sizeof text, "%llu", (unsigned long long)(seed ? seed : 1));
        cJSON_AddItemToArray(seeds, cJSON_CreateString(text));
    }
}
