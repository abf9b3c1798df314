#include "base/json.h"
#include "base/json_exact.h"
#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const cJSON *kb_json_get(const cJSON *object, const char *key)
{
    return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, key) : NULL;
}

const char *kb_json_text(const cJSON *object, const char *key, const char *otherwise)
{
    const cJSON *item = kb_json_get(object, key);
    return cJSON_IsString(item) ? item->valuestring : otherwise;
}

double kb_json_number(const cJSON *object, const char *key, double otherwise)
{
    const cJSON *item = kb_json_get(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : otherwise;
}

int64_t kb_json_int(const cJSON *object, const char *key, int64_t otherwise)
{
    double value = kb_json_number(object, key, NAN);
    // Beyond 2^53 a JSON number has lost digits: such values travel as strings.
    return isfinite(value) && fabs(value) <= 9007199254740992.0 ? (int64_t)value : otherwise;
}

bool kb_json_bool(const cJSON *object, const char *key, bool otherwise)
{
    const cJSON *item = kb_json_get(object, key);
    return cJSON_IsBool(item) ? cJSON_IsTrue(item) : otherwise;
}

void kb_json_set(cJSON *object, const char *key, cJSON *value)
{
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
    cJSON_AddItemToObject(object, key, value);
}

void kb_json_set_text(cJSON *object, const char *key, const char *value)
{
    kb_json_set(object, key, value ? cJSON_CreateString(value) : cJSON_CreateNull());
}

void kb_json_set_number(cJSON *object, const char *key, double value)
{
    kb_json_set(object, key, isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull());
}

void kb_json_set_bool(cJSON *object, const char *key, bool value)
{
    kb_json_set(object, key, cJSON_CreateBool(value));
}

void kb_json_measured(cJSON *object, const char *key, double value, const char *unknown_reason)
{
    char *reason_key = kb_format("%s_reason", key);
    cJSON_DeleteItemFromObjectCaseSensitive(object, reason_key);
    if (!unknown_reason && !isfinite(value))
        unknown_reason = "not finite";
    kb_json_set(object, key, unknown_reason ? cJSON_CreateNull() : cJSON_CreateNumber(value));
    if (unknown_reason)
        kb_json_set_text(object, reason_key, unknown_reason);
    free(reason_key);
}

static void print_text(struct kb_text *out, const char *text)
{
    kb_text_add(out, "\"");
    for (const unsigned char *p = (const unsigned char *)(text ? text : ""); *p; p++) {
        static const char escaped[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
        const char *known = strchr(escaped, *p);
        if (known)
            kb_text_addf(out, "\\%c", letters[known - escaped]);
        else if (*p < 32)
            kb_text_addf(out, "\\u%04x", *p);
        else
            kb_text_bytes(out, p, 1);
    }
    kb_text_add(out, "\"");
}

static void print(struct kb_text *out, const cJSON *item)
{
    bool object = cJSON_IsObject(item);
    char number[32];
    if (object || cJSON_IsArray(item)) {
        kb_text_add(out, object ? "{" : "[");
        for (const cJSON *child = item->child; child; child = child->next) {
            if (object) {
                print_text(out, child->string);
                kb_text_add(out, ":");
            }
            print(out, child);
            if (child->next)
                kb_text_add(out, ",");
        }
        kb_text_add(out, object ? "}" : "]");
    } else if (cJSON_IsNumber(item)) {
        kb_json_number_text(item, number);
        kb_text_add(out, number);
    } else if (cJSON_IsString(item)) {
        print_text(out, item->valuestring);
    } else {
        kb_text_add(out, cJSON_IsTrue(item) ? "true" : cJSON_IsFalse(item) ? "false" : "null");
    }
}

char *kb_json_line(const cJSON *item) // not cJSON's own, which drops digits
{
    struct kb_text out = {0};
    print(&out, item);
    return kb_text_take(&out);
}
