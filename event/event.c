#include "event/event.h"
#include "base/json.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(r, f, key_, kind_, optional_, otherwise_, sub_, about_)                                                  \
    {.key = key_,                                                                                                      \
     .kind = KB_FIELD_##kind_,                                                                                         \
     .optional = optional_,                                                                                            \
     .at = offsetof(struct kb_ev_##r, f),                                                                              \
     .otherwise = otherwise_,                                                                                          \
     .sub = sub_,                                                                                                      \
     .about = about_},
#define COUNTED(r, f, kind_, optional_, sub_, about_)                                                                  \
    {.key = #f,                                                                                                        \
     .kind = KB_FIELD_##kind_,                                                                                         \
     .optional = optional_,                                                                                            \
     .at = offsetof(struct kb_ev_##r, f),                                                                              \
     .count_at = offsetof(struct kb_ev_##r, f##_count),                                                                \
     .sub = sub_,                                                                                                      \
     .about = about_},

#define RECORD(r, about) static const struct kb_field r##_fields[] = {
#define END(r)                                                                                                         \
    {                                                                                                                  \
        0                                                                                                              \
    }                                                                                                                  \
    }                                                                                                                  \
    ;
#define TEXT(r, f, about) FIELD(r, f, #f, TEXT, false, 0, NULL, about)
#define TEXT_IF(r, f, about) FIELD(r, f, #f, TEXT, true, 0, NULL, about)
#define VALUE(r, f, about) FIELD(r, f, #f, VALUE, false, 0, NULL, about)
#define NUM(r, f, about) FIELD(r, f, #f, NUM, false, 0, NULL, about)
#define NUM_IF(r, f, about) FIELD(r, f, #f, NUM, true, 0, NULL, about)
#define WHY(r, f) FIELD(r, f##_reason, #f "_reason", TEXT, true, 0, NULL, "why it is null")
#define MEAS(r, f, about) NUM(r, f, about) WHY(r, f)
#define MEAS_IF(r, f, about) NUM_IF(r, f, about) WHY(r, f)
#define INT(r, f, otherwise, about) FIELD(r, f, #f, INT, false, otherwise, NULL, about)
#define INT_IF(r, f, otherwise, about) FIELD(r, f, #f, INT, true, otherwise, NULL, about)
#define INT_AS(r, f, key, otherwise, about) FIELD(r, f, key, INT, false, otherwise, NULL, about)
#define INT_AS_IF(r, f, key, otherwise, about) FIELD(r, f, key, INT, true, otherwise, NULL, about)
#define FLAG(r, f, about) FIELD(r, f, #f, FLAG, false, 0, NULL, about)
#define FLAG_IF(r, f, about) FIELD(r, f, #f, FLAG, true, 0, NULL, about)
#define TRI(r, f, about) FIELD(r, f, #f, TRI, false, 0, NULL, about)
#define TRI_IF(r, f, about) FIELD(r, f, #f, TRI, true, 0, NULL, about)
#define REC(r, f, sub, about) FIELD(r, f, #f, REC, false, 0, &kb_record_##sub, about)
#define REC_IF(r, f, sub, about) FIELD(r, f, #f, REC, true, 0, &kb_record_##sub, about)
#define LIST(r, f, sub, about) COUNTED(r, f, LIST, false, &kb_record_##sub, about)
#define LIST_IF(r, f, sub, about) COUNTED(r, f, LIST, true, &kb_record_##sub, about)
#define TABLE(r, f, sub, about) COUNTED(r, f, TABLE, false, &kb_record_##sub, about)
#define TEXTS(r, f, about) COUNTED(r, f, TEXTS, false, NULL, about)
#define TEXTS_IF(r, f, about) COUNTED(r, f, TEXTS, true, NULL, about)
#define NUMS(r, f, about) COUNTED(r, f, NUMS, false, NULL, about)
#define NAMED(r, f, about) COUNTED(r, f, NAMED, false, NULL, about)
#define NAMED_IF(r, f, about) COUNTED(r, f, NAMED, true, NULL, about)
#include "event/table.def"

#define RECORD(r, about_)                                                                                              \
    const struct kb_record kb_record_##r = {.name = #r,                                                                \
                                            .about = about_,                                                           \
                                            .size = sizeof(struct kb_ev_##r),                                          \
                                            .fields = r##_fields,                                                      \
                                            .field_count = (int)KB_COUNT(r##_fields) - 1};
#include "event/table.def"

#define RECORD(r, about) const struct kb_ev_##r kb_unknown_##r = {
#define END(r)                                                                                                         \
    }                                                                                                                  \
    ;
#define NUM(r, f, about) .f = NAN,
#define MEAS(r, f, about) .f = NAN,
#define INT(r, f, otherwise, about) .f = otherwise,
#include "event/table.def"

static const struct kb_record *const records[] = {
#define EVENT(r, about) &kb_record_##r,
#include "event/table.def"
};

static const struct {
    enum kb_event_type type;
    const char *name;
} second_names[] = {{KB_EVENT_session, "bench"}, {KB_EVENT_verdict, "done"}};

const struct kb_record *kb_event_record(enum kb_event_type type)
{
    return records[type];
}

const char *kb_event_name(enum kb_event_type type, bool again)
{
    for (size_t i = 0; again && i < KB_COUNT(second_names); i++)
        if (second_names[i].type == type)
            return second_names[i].name;
    return records[type]->name;
}

static bool find_type(const char *name, struct kb_event *e)
{
    for (size_t i = 0; i < KB_COUNT(second_names); i++)
        if (!strcmp(second_names[i].name, name)) {
            e->type = second_names[i].type;
            e->again = true;
            return true;
        }
    for (int i = 0; i < KB_EVENT_TYPES; i++)
        if (!strcmp(records[i]->name, name)) {
            e->type = (enum kb_event_type)i;
            return true;
        }
    return false;
}

int kb_event_read(const cJSON *from, struct kb_event *e)
{
    *e = (struct kb_event){0};
    if (!find_type(kb_json_text(from, "type", ""), e))
        return -1;
    e->t_ms = kb_json_int(from, "t_ms", -1);
    e->variant = kb_strdup(kb_json_text(from, "variant", NULL));
    e->version = (int)kb_json_int(from, "version", 0);
    e->body = kb_record_new(records[e->type], from);
    return 0;
}

int64_t kb_event_case(const struct kb_event *e)
{
    const struct kb_record *r = records[e->type];
    for (int i = 0; i < r->field_count; i++)
        if (!strcmp(r->fields[i].key, "case"))
            return *(const int64_t *)((const char *)e->body + r->fields[i].at);
    return -1;
}

cJSON *kb_event_write(const struct kb_event *e)
{
    cJSON *out = kb_record_write(records[e->type], e->body);
    kb_json_set_text(out, "type", kb_event_name(e->type, e->again));
    kb_json_set_number(out, "t_ms", (double)e->t_ms);
    if (e->variant || e->version)
        kb_json_set_text(out, "variant", e->variant);
    if (e->version)
        kb_json_set_number(out, "version", e->version);
    return out;
}

void kb_event_free(struct kb_event *e)
{
    free(e->variant);
    kb_record_delete(e->body ? records[e->type] : NULL, e->body);
    *e = (struct kb_event){0};
}

void kb_events_read(const cJSON *array, struct kb_events *out)
{
    const cJSON *item;
    *out = (struct kb_events){.items = kb_alloc(sizeof *out->items * (size_t)(cJSON_GetArraySize(array) + 1))};
    cJSON_ArrayForEach (item, array)
        out->count += kb_event_read(item, &out->items[out->count]) == 0;
}

void kb_events_free(struct kb_events *events)
{
    for (int i = 0; i < events->count; i++)
        kb_event_free(&events->items[i]);
    free(events->items);
    *events = (struct kb_events){0};
}
