#include "event/schema.h"
#include "base/json.h"
#include "base/memory.h"
#include "event/event.h"

#include <stdlib.h>

static cJSON *type(const char *name, bool nullable)
{
    cJSON *s = cJSON_CreateObject();
    if (!nullable) {
        kb_json_set_text(s, "type", name);
        return s;
    }
    cJSON *both = cJSON_AddArrayToObject(s, "type");
    cJSON_AddItemToArray(both, cJSON_CreateString(name));
    cJSON_AddItemToArray(both, cJSON_CreateString("null"));
    return s;
}

static cJSON *reference(const struct kb_record *r)
{
    cJSON *s = cJSON_CreateObject();
    char *path = kb_format("#/definitions/%s", r->name);
    kb_json_set_text(s, "$ref", path);
    free(path);
    return s;
}

static cJSON *list_of(cJSON *items)
{
    cJSON *s = type("array", true);
    kb_json_set(s, "items", items);
    return s;
}

static cJSON *table_of(cJSON *values)
{
    cJSON *s = type("object", true);
    kb_json_set(s, "additionalProperties", values);
    return s;
}

static cJSON *number_or_text(void)
{
    cJSON *s = type("number", true);
    cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(s, "type"), cJSON_CreateString("string"));
    return s;
}

// A field may always be null: what is not known is, with the reason beside it.
static cJSON *field_schema(const struct kb_field *f)
{
    cJSON *either, *value;
    switch (f->kind) {
    case KB_FIELD_TEXT:
        return type("string", true);
    case KB_FIELD_VALUE:
        return number_or_text();
    case KB_FIELD_NUM:
        return type("number", true);
    case KB_FIELD_INT:
        return type("integer", true);
    case KB_FIELD_FLAG:
    case KB_FIELD_TRI:
        return type("boolean", true);
    case KB_FIELD_REC:
        value = cJSON_CreateObject();
        either = cJSON_AddArrayToObject(value, "anyOf");
        cJSON_AddItemToArray(either, reference(f->sub));
        cJSON_AddItemToArray(either, type("null", false));
        return value;
    case KB_FIELD_LIST:
        return list_of(reference(f->sub));
    case KB_FIELD_TABLE:
        return table_of(reference(f->sub));
    case KB_FIELD_TEXTS:
        return list_of(type("string", false));
    case KB_FIELD_NUMS:
        return list_of(type("number", true));
    case KB_FIELD_NAMED:
        return table_of(number_or_text()); // the texts: NAME_reason
    }
    return NULL;
}

static cJSON *record_schema(const struct kb_record *r)
{
    cJSON *s = type("object", false), *fields = cJSON_CreateObject();
    if (*r->about)
        kb_json_set_text(s, "description", r->about);
    for (int i = 0; i < r->field_count; i++) {
        cJSON *field = field_schema(&r->fields[i]);
        if (*r->fields[i].about)
            kb_json_set_text(field, "description", r->fields[i].about);
        cJSON_AddItemToObject(fields, r->fields[i].key, field);
    }
    kb_json_set(s, "properties", fields);
    return s;
}

static void add_records(cJSON *definitions)
{
#define RECORD(r, about) kb_json_set(definitions, #r, record_schema(&kb_record_##r));
#include "event/table.def"
}

static cJSON *event_schema(const char *name, const struct kb_record *r)
{
    cJSON *s = type("object", false), *fields = cJSON_AddObjectToObject(s, "properties"), *is = cJSON_CreateObject();
    cJSON *all = cJSON_AddArrayToObject(s, "allOf");
    kb_json_set_text(is, "const", name);
    kb_json_set(fields, "type", is);
    kb_json_set(fields, "t_ms", type("number", false));
    kb_json_set(fields, "variant", type("string", true));
    kb_json_set(fields, "version", type("integer", true));
    cJSON_AddItemToArray(all, reference(r));
    return s;
}

cJSON *kb_events_schema(void)
{
    cJSON *s = cJSON_CreateObject();
    kb_json_set_text(s, "$schema", "http://json-schema.org/draft-07/schema#");
    kb_json_set_text(s, "title", "kbench-tui events");
    kb_json_set_text(
        s, "description",
        "One line of --follow, and of a recording. Made from event/table.def: a test says when it is not.");
    cJSON *events = cJSON_AddArrayToObject(s, "oneOf"), *definitions = cJSON_AddObjectToObject(s, "definitions");
    for (int i = 0; i < KB_EVENT_TYPES; i++)
        for (int again = 0; again < 2; again++) {
            const char *name = kb_event_name((enum kb_event_type)i, again);
            if (!again || name != kb_event_name((enum kb_event_type)i, false))
                cJSON_AddItemToArray(events, event_schema(name, kb_event_record((enum kb_event_type)i)));
        }
    add_records(definitions);
    return s;
}
