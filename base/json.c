#include "base/json.h"
#include "base/memory.h"

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

char *kb_json_line(const cJSON *item)
{
    char *line = cJSON_PrintUnformatted(item);
    return line ? line : kb_strdup("null");
}
