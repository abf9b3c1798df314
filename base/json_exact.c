#include "base/json_exact.h"
#include "base/json.h"
#include "base/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double whole = 9007199254740992.0; // up to here each integer is a double

// The next number behind *at, and its length; NULL: there is none. Texts are passed over.
static const char *next_number(const char **at, const char *end, size_t *length)
{
    bool in_text = false;
    for (const char *p = *at; p < end; p++) {
        if (in_text && *p == '\\')
            p++;
        else if (*p == '"')
            in_text = !in_text;
        else if (!in_text && (*p == '-' || (*p >= '0' && *p <= '9'))) {
            const char *stop = p;
            while (stop < end && strchr("+-.0123456789eE", *stop) && *stop)
                stop++;
            *at = stop;
            *length = (size_t)(stop - p);
            return p;
        }
    }
    *at = end;
    return NULL;
}

// Fits 64 bits and is no double.
static bool needs_digits(const char *number, size_t length)
{
    char text[32];
    if (length >= sizeof text || memchr(number, '.', length) || memchr(number, 'e', length) ||
        memchr(number, 'E', length))
        return false;
    memcpy(text, number, length);
    text[length] = 0;
    errno = 0;
    int64_t value = strtoll(text, NULL, 10);
    return !errno && fabs((double)value) >= whole;
}

// Items are met in the order of the text.
static void keep(cJSON *item, const char **at, const char *end)
{
    for (; item; item = item->next) {
        size_t length = 0;
        const char *number = cJSON_IsNumber(item) ? next_number(at, end, &length) : NULL;
        if (number && needs_digits(number, length) && !item->valuestring)
            item->valuestring = kb_strndup(number, length);
        keep(item->child, at, end);
    }
}

void kb_json_keep_digits(cJSON *parsed, const char *text, size_t size)
{
    keep(parsed, &text, text + size);
}

cJSON *kb_json_parse(const char *text, size_t size)
{
    cJSON *parsed = cJSON_ParseWithLength(text, size);
    kb_json_keep_digits(parsed, text, size);
    return parsed;
}

bool kb_json_exact(const cJSON *item, int64_t *value)
{
    if (!cJSON_IsNumber(item))
        return false;
    if (item->valuestring) {
        *value = strtoll(item->valuestring, NULL, 10);
        return true;
    }
    if (item->valuedouble != trunc(item->valuedouble) || !(fabs(item->valuedouble) <= whole))
        return false;
    *value = (int64_t)item->valuedouble;
    return true;
}

void kb_json_set_int(cJSON *object, const char *key, int64_t value)
{
    kb_json_set_number(object, key, (double)value);
    cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (fabs((double)value) >= whole)
        item->valuestring = kb_format("%" PRId64, value);
}

static bool same_digits(const cJSON *a, const cJSON *b)
{
    bool same = !a->valuestring == !b->valuestring && (!a->valuestring || !strcmp(a->valuestring, b->valuestring));
    const cJSON *child;
    int i = 0;
    cJSON_ArrayForEach (child, a) {
        const cJSON *other = cJSON_IsObject(a) ? kb_json_get(b, child->string) : cJSON_GetArrayItem(b, i++);
        same = same && other && same_digits(child, other);
    }
    return same;
}

bool kb_json_same(const cJSON *a, const cJSON *b)
{
    return cJSON_Compare(a, b, true) && same_digits(a, b);
}

void kb_json_number_text(const cJSON *item, char out[32])
{
    if (item->valuestring) {
        snprintf(out, 32, "%.31s", item->valuestring);
        return;
    }
    if (!isfinite(item->valuedouble)) {
        snprintf(out, 32, "null");
        return;
    }
    bool integer = item->valuedouble == trunc(item->valuedouble) && fabs(item->valuedouble) < whole;
    snprintf(out, 32, integer ? "%.0f" : "%.15g", item->valuedouble);
    for (int digits = 16; strtod(out, NULL) != item->valuedouble && digits <= 17; digits++)
        snprintf(out, 32, "%.*g", digits, item->valuedouble);
}

cJSON *kb_json_value(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    bool integer = !strpbrk(text, ".en"); // "inf" and "nan" have an n
    if (!*text || !isfinite(value) || *end || (integer && fabs(value) > whole))
        return cJSON_CreateString(text);
    return cJSON_CreateNumber(value);
}
