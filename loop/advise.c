// The event `advice`: what limits a version and what to try, once everything behind its verdict has ended.
#include "loop/advice.h"
#include "loop/parts.h"

#include <stdlib.h>
#include <string.h>

// A step names its file as people do; the source that a line was looked up in is the main one.
static void name_files(const struct kb_session *s, const struct kb_build *b, cJSON *steps)
{
    cJSON *step;
    cJSON_ArrayForEach (step, steps) {
        const char *file = kb_json_text(step, "file", NULL);
        if (!file)
            continue;
        char *name = kb_name_for_people(s, b, *file ? file + (*file == '/') : b->source->snapshot.main);
        kb_json_set_text(step, "file", name);
        free(name);
    }
}

static cJSON *made(const struct kb_session *s, const struct kb_build *b)
{
    struct kb_advice_input in;
    struct kb_advice advice;
    kb_advice_gather(b->results, s->model.headline, &in);
    in.device = s->model.device;
    in.bench = kb_model_bench(&s->model);
    in.source = b->source->snapshot.file_count ? b->source->snapshot.files[0].data : NULL;
    kb_advice_make(&in, &advice);
    kb_advice_input_free(&in);
    cJSON *document = kb_advice_json(&advice), *event = kb_build_event(b, "advice");
    for (cJSON *item; (item = document->child);) {
        cJSON_DetachItemViaPointer(document, item);
        char *key = kb_strdup(item->string);
        kb_json_set(event, key, item);
        free(key);
    }
    cJSON_Delete(document);
    name_files(s, b, cJSON_GetObjectItemCaseSensitive(event, "steps"));
    kb_advice_free(&advice);
    return event;
}

static bool same(const cJSON *a, const cJSON *b)
{
    static const char *const keys[] = {"limit", "confidence", "evidence", "steps", "missing"};
    bool same = true;
    for (size_t i = 0; i < KB_COUNT(keys); i++)
        same = same && cJSON_Compare(kb_json_get(a, keys[i]), kb_json_get(b, keys[i]), true);
    return same;
}

// Takes the event. The record keeps the last one only.
static void say(struct kb_session *s, struct kb_build *b, cJSON *event)
{
    for (int i = cJSON_GetArraySize(b->results) - 1; i >= 0; i--) {
        cJSON *before = cJSON_GetArrayItem(b->results, i);
        if (strcmp(kb_json_text(before, "type", ""), "advice"))
            continue;
        if (same(before, event)) {
            cJSON_Delete(event);
            return;
        }
        cJSON_DeleteItemFromArray(b->results, i);
    }
    kb_emit_build(s, b, event);
}

void kb_advise(struct kb_session *s, struct kb_build *b)
{
    say(s, b, made(s, b));
}
