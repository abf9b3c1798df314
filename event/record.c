#include "event/record.h"
#include "base/json.h"
#include "base/json_exact.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *at(void *record, size_t offset)
{
    return (char *)record + offset;
}

static const void *of(const void *record, size_t offset)
{
    return (const char *)record + offset;
}

static size_t item_size(const struct kb_field *f)
{
    return f->kind == KB_FIELD_TEXTS   ? sizeof(char *)
           : f->kind == KB_FIELD_NUMS  ? sizeof(double)
           : f->kind == KB_FIELD_NAMED ? sizeof(struct kb_named)
                                       : f->sub->size;
}

static char *text_of(const cJSON *item)
{
    return cJSON_IsString(item) ? kb_strdup(item->valuestring) : NULL;
}

static double number_of(const cJSON *item)
{
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static char *value_of(const cJSON *item)
{
    char text[32];
    if (!cJSON_IsNumber(item))
        return text_of(item);
    kb_json_number_text(item, text);
    return kb_strdup(text);
}

// Lists

static bool is_counted(const struct kb_field *f)
{
    return f->kind >= KB_FIELD_LIST;
}

static void read_item(const struct kb_field *f, const cJSON *parent, const cJSON *item, void *to)
{
    char *key;
    struct kb_named *named = to;
    int64_t whole;
    switch (f->kind) {
    case KB_FIELD_TEXTS:
        *(char **)to = kb_strdup(cJSON_IsString(item) ? item->valuestring : "");
        break;
    case KB_FIELD_NUMS:
        *(double *)to = number_of(item);
        break;
    case KB_FIELD_NAMED:
        key = kb_format("%s_reason", item->string);
        *named = (struct kb_named){
            .name = kb_strdup(item->string), .value = number_of(item), .reason = text_of(kb_json_get(parent, key))};
        free(key);
        if (kb_json_exact(item, &whole) && fabs(named->value) >= 0x1p53)
            named->whole = whole;
        break;
    default:
        kb_record_read(f->sub, item, to);
        if (f->kind == KB_FIELD_TABLE)
            *(char **)at(to, f->sub->fields[0].at) = kb_strdup(item->string);
    }
}

static void read_list(const struct kb_field *f, const cJSON *from, void *record)
{
    bool object = f->kind == KB_FIELD_NAMED || f->kind == KB_FIELD_TABLE;
    int count = (object ? cJSON_IsObject(from) : cJSON_IsArray(from)) ? cJSON_GetArraySize(from) : 0;
    int *n = at(record, f->count_at);
    char *list = count ? kb_alloc((size_t)count * item_size(f)) : NULL;
    const cJSON *item;
    *n = 0;
    if (count)
        cJSON_ArrayForEach (item, from) {
            if (f->kind == KB_FIELD_NAMED && !cJSON_IsNumber(item) && !cJSON_IsNull(item))
                continue; // the reason of another
            read_item(f, from, item, list + (size_t)(*n)++ * item_size(f));
        }
    *(void **)at(record, f->at) = list;
}

static void write_named(const struct kb_named *named, cJSON *to)
{
    if (named->whole)
        kb_json_set_int(to, named->name, named->whole);
    else if (isfinite(named->value) || named->reason)
        kb_json_measured(to, named->name, named->value, named->reason);
    else
        kb_json_set_text(to, named->name, NULL);
}

static void write_item(const struct kb_field *f, const void *from, cJSON *list)
{
    double number;
    cJSON *item;
    switch (f->kind) {
    case KB_FIELD_TEXTS:
        cJSON_AddItemToArray(list, cJSON_CreateString(*(char *const *)from));
        break;
    case KB_FIELD_NUMS:
        number = *(const double *)from;
        cJSON_AddItemToArray(list, isfinite(number) ? cJSON_CreateNumber(number) : cJSON_CreateNull());
        break;
    case KB_FIELD_NAMED:
        write_named(from, list);
        break;
    default:
        item = kb_record_write(f->sub, from);
        if (f->kind == KB_FIELD_TABLE) {
            cJSON_DeleteItemFromObjectCaseSensitive(item, f->sub->fields[0].key);
            kb_json_set(list, *(char *const *)of(from, f->sub->fields[0].at), item);
        } else {
            cJSON_AddItemToArray(list, item);
        }
    }
}

static cJSON *write_list(const struct kb_field *f, const void *record)
{
    bool object = f->kind == KB_FIELD_NAMED || f->kind == KB_FIELD_TABLE;
    cJSON *list = object ? cJSON_CreateObject() : cJSON_CreateArray();
    const char *items = *(char *const *)of(record, f->at);
    for (int i = 0; i < *(const int *)of(record, f->count_at); i++)
        write_item(f, items + (size_t)i * item_size(f), list);
    return list;
}

static void free_list(const struct kb_field *f, void *record)
{
    char *items = *(char **)at(record, f->at);
    for (int i = 0; i < *(int *)at(record, f->count_at); i++) {
        void *item = items + (size_t)i * item_size(f);
        if (f->kind == KB_FIELD_TEXTS) {
            free(*(char **)item);
        } else if (f->kind == KB_FIELD_NAMED) {
            free(((struct kb_named *)item)->name);
            free(((struct kb_named *)item)->reason);
        } else if (f->sub) {
            kb_record_free(f->sub, item);
        }
    }
    free(items);
}

static void copy_list(const struct kb_field *f, const void *from, void *to)
{
    int count = *(const int *)of(from, f->count_at);
    size_t size = item_size(f);
    const char *items = *(char *const *)of(from, f->at);
    char *list = count ? kb_alloc((size_t)count * size) : NULL;
    for (int i = 0; i < count; i++) {
        const void *item = items + (size_t)i * size;
        void *copy = list + (size_t)i * size;
        if (f->sub) {
            kb_record_copy(f->sub, item, copy);
        } else if (f->kind == KB_FIELD_TEXTS) {
            *(char **)copy = kb_strdup(*(char *const *)item);
        } else if (f->kind == KB_FIELD_NAMED) {
            const struct kb_named *n = item;
            *(struct kb_named *)copy = (struct kb_named){kb_strdup(n->name), kb_strdup(n->reason), n->value, n->whole};
        } else {
            memcpy(copy, item, size);
        }
    }
    *(void **)at(to, f->at) = list;
    *(int *)at(to, f->count_at) = count;
}

// Records

static void read_field(const struct kb_field *f, const cJSON *from, void *record)
{
    const cJSON *item = kb_json_get(from, f->key);
    void *to = at(record, f->at);
    switch (f->kind) {
    case KB_FIELD_TEXT:
        *(char **)to = text_of(item);
        break;
    case KB_FIELD_VALUE:
        *(char **)to = value_of(item);
        break;
    case KB_FIELD_NUM:
        *(double *)to = number_of(item);
        break;
    case KB_FIELD_INT:
        *(int64_t *)to = kb_json_int(from, f->key, f->otherwise);
        break;
    case KB_FIELD_FLAG:
        *(bool *)to = cJSON_IsTrue(item);
        break;
    case KB_FIELD_TRI:
        *(enum kb_tri *)to = cJSON_IsTrue(item) ? KB_YES : cJSON_IsFalse(item) ? KB_NO : KB_UNKNOWN;
        break;
    case KB_FIELD_REC:
        *(void **)to = kb_record_new(f->sub, item);
        break;
    default:
        read_list(f, item, record);
    }
}

// NULL: nothing is known.
static cJSON *known(const struct kb_field *f, const void *record)
{
    const void *from = of(record, f->at);
    switch (f->kind) {
    case KB_FIELD_TEXT:
        return *(char *const *)from ? cJSON_CreateString(*(char *const *)from) : NULL;
    case KB_FIELD_VALUE:
        return *(char *const *)from ? kb_json_value(*(char *const *)from) : NULL;
    case KB_FIELD_NUM:
        return isfinite(*(const double *)from) ? cJSON_CreateNumber(*(const double *)from) : NULL;
    case KB_FIELD_INT:
        return *(const int64_t *)from != f->otherwise ? cJSON_CreateNumber((double)*(const int64_t *)from) : NULL;
    case KB_FIELD_FLAG:
        return *(const bool *)from ? cJSON_CreateTrue() : NULL;
    case KB_FIELD_TRI:
        return *(const enum kb_tri *)from ? cJSON_CreateBool(*(const enum kb_tri *)from == KB_YES) : NULL;
    case KB_FIELD_REC:
        return *(void *const *)from ? kb_record_write(f->sub, *(void *const *)from) : NULL;
    default:
        return *(const int *)of(record, f->count_at) ? write_list(f, record) : NULL;
    }
}

// unknown: its reason follows.
static cJSON *nothing(const struct kb_field *f, const void *record, bool unknown)
{
    return f->kind == KB_FIELD_FLAG  ? cJSON_CreateFalse()
           : unknown                 ? cJSON_CreateNull()
           : f->kind == KB_FIELD_INT ? cJSON_CreateNumber((double)f->otherwise)
           : is_counted(f)           ? write_list(f, record)
                                     : cJSON_CreateNull();
}

void kb_record_init(const struct kb_record *r, void *to)
{
    memset(to, 0, r->size);
    for (int i = 0; i < r->field_count; i++) {
        const struct kb_field *f = &r->fields[i];
        if (f->kind == KB_FIELD_NUM)
            *(double *)at(to, f->at) = NAN;
        else if (f->kind == KB_FIELD_INT)
            *(int64_t *)at(to, f->at) = f->otherwise;
    }
}

void kb_record_read(const struct kb_record *r, const cJSON *from, void *to)
{
    kb_record_init(r, to);
    for (int i = 0; i < r->field_count; i++)
        read_field(&r->fields[i], from, to);
}

// What was measured, or would have been, is null where its reason stands, even if it may be absent.
static bool has_reason(const struct kb_record *r, int i, const void *record)
{
    const struct kb_field *f = &r->fields[i], *next = i + 1 < r->field_count ? f + 1 : NULL;
    size_t n = strlen(f->key);
    return next && !strncmp(next->key, f->key, n) && !strcmp(next->key + n, "_reason") &&
           *(char *const *)of(record, next->at);
}

cJSON *kb_record_write(const struct kb_record *r, const void *from)
{
    cJSON *out = cJSON_CreateObject();
    for (int i = 0; i < r->field_count; i++) {
        const struct kb_field *f = &r->fields[i];
        cJSON *item = known(f, from);
        bool unknown = !item && has_reason(r, i, from);
        if (!item && (!f->optional || unknown))
            item = nothing(f, from, unknown);
        if (item)
            cJSON_AddItemToObject(out, f->key, item);
    }
    return out;
}

cJSON *kb_record_write_list(const struct kb_record *r, const void *first, int count)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < count; i++)
        cJSON_AddItemToArray(list, kb_record_write(r, of(first, (size_t)i * r->size)));
    return list;
}

void kb_record_free(const struct kb_record *r, void *record)
{
    for (int i = 0; i < r->field_count; i++) {
        const struct kb_field *f = &r->fields[i];
        if (f->kind == KB_FIELD_TEXT || f->kind == KB_FIELD_VALUE)
            free(*(char **)at(record, f->at));
        else if (f->kind == KB_FIELD_REC)
            kb_record_delete(f->sub, *(void **)at(record, f->at));
        else if (is_counted(f))
            free_list(f, record);
    }
}

void kb_record_copy(const struct kb_record *r, const void *from, void *to)
{
    memcpy(to, from, r->size);
    for (int i = 0; i < r->field_count; i++) {
        const struct kb_field *f = &r->fields[i];
        if (f->kind == KB_FIELD_TEXT || f->kind == KB_FIELD_VALUE)
            *(char **)at(to, f->at) = kb_strdup(*(char *const *)of(from, f->at));
        else if (f->kind == KB_FIELD_REC)
            *(void **)at(to, f->at) = kb_record_dup(f->sub, *(void *const *)of(from, f->at));
        else if (is_counted(f))
            copy_list(f, from, to);
    }
}

double kb_value_number(const char *text)
{
    cJSON *item = text ? kb_json_value(text) : NULL;
    double number = number_of(item);
    cJSON_Delete(item);
    return number;
}

static void add(double *to, double by)
{
    if (!isnan(by))
        *to = (isnan(*to) ? 0 : *to) + by;
}

static void add_named(const struct kb_field *f, void *to, const void *from)
{
    struct kb_named **list = at(to, f->at);
    const struct kb_named *more = *(struct kb_named *const *)of(from, f->at);
    int *count = at(to, f->count_at), n = *(const int *)of(from, f->count_at);
    *list = kb_realloc(*list, sizeof **list * (size_t)(*count + n + 1));
    for (int i = 0; i < n; i++) {
        int k = 0;
        while (k < *count && strcmp((*list)[k].name, more[i].name))
            k++;
        if (k == *count)
            (*list)[(*count)++] = (struct kb_named){.name = kb_strdup(more[i].name), .value = NAN};
        add(&(*list)[k].value, more[i].value);
        (*list)[k].whole = 0;
    }
}

void kb_record_add(const struct kb_record *r, void *to, const void *from)
{
    for (int i = 0; i < r->field_count; i++) {
        const struct kb_field *f = &r->fields[i];
        void **record = at(to, f->at);
        const void *more = of(from, f->at);
        if (f->kind == KB_FIELD_NUM)
            add(at(to, f->at), *(const double *)more);
        else if (f->kind == KB_FIELD_NAMED)
            add_named(f, to, from);
        else if (f->kind == KB_FIELD_REC && *record && *(void *const *)more)
            kb_record_add(f->sub, *record, *(void *const *)more);
        else if (f->kind == KB_FIELD_REC && !*record)
            *record = kb_record_dup(f->sub, *(void *const *)more);
    }
}

double kb_record_number(const struct kb_record *r, const void *record, const char *key)
{
    for (int i = 0; i < r->field_count; i++)
        if (r->fields[i].kind == KB_FIELD_NUM && !strcmp(r->fields[i].key, key))
            return *(const double *)of(record, r->fields[i].at);
    return NAN;
}

cJSON *kb_named_write(const struct kb_named *list, int count)
{
    cJSON *object = cJSON_CreateObject();
    for (int i = 0; i < count; i++)
        write_named(&list[i], object);
    return object;
}

double kb_named_value(const struct kb_named *list, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(list[i].name, name))
            return list[i].value;
    return NAN;
}

void *kb_record_new(const struct kb_record *r, const cJSON *from)
{
    if (!cJSON_IsObject(from))
        return NULL;
    void *record = kb_alloc(r->size);
    kb_record_read(r, from, record);
    return record;
}

void *kb_record_dup(const struct kb_record *r, const void *from)
{
    if (!from)
        return NULL;
    void *record = kb_alloc(r->size);
    kb_record_copy(r, from, record);
    return record;
}

void kb_record_delete(const struct kb_record *r, void *record)
{
    if (!record)
        return;
    kb_record_free(r, record);
    free(record);
}
