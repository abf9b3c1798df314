#include "support_schema.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct place {
    const cJSON *root; // the schema
    struct kb_text *why;
    char path[512];
};

static int check(struct place *p, const cJSON *schema, const cJSON *item);

static int no(struct place *p, const char *what, const char *detail)
{
    kb_text_addf(p->why, "%s: %s %s\n", p->path[0] ? p->path : "/", what, detail);
    return -1;
}

static bool has_type(const cJSON *item, const char *type)
{
    return !strcmp(type, "null")      ? cJSON_IsNull(item)
           : !strcmp(type, "boolean") ? cJSON_IsBool(item)
           : !strcmp(type, "number")  ? cJSON_IsNumber(item)
           : !strcmp(type, "integer")
               ? cJSON_IsNumber(item) && item->valuedouble == (double)(long long)item->valuedouble
           : !strcmp(type, "string") ? cJSON_IsString(item)
           : !strcmp(type, "array")  ? cJSON_IsArray(item)
           : !strcmp(type, "object") ? cJSON_IsObject(item)
                                     : false;
}

static int check_type(struct place *p, const cJSON *types, const cJSON *item)
{
    const cJSON *type;
    if (cJSON_IsString(types))
        return has_type(item, types->valuestring) ? 0 : no(p, "is no", types->valuestring);
    cJSON_ArrayForEach (type, types)
        if (has_type(item, type->valuestring))
            return 0;
    char *list = kb_json_line(types);
    int status = no(p, "is none of", list);
    free(list);
    return status;
}

static int check_member(struct place *p, const cJSON *schema, const cJSON *item, const char *name)
{
    size_t length = strlen(p->path);
    int n = snprintf(p->path + length, sizeof p->path - length, "/%s", name);
    int status = n < 0 ? -1 : check(p, schema, item);
    p->path[length] = 0;
    return status;
}

static int check_object(struct place *p, const cJSON *schema, const cJSON *item)
{
    const cJSON *properties = kb_json_get(schema, "properties"), *required = kb_json_get(schema, "required"), *member;
    bool closed = cJSON_IsFalse(kb_json_get(schema, "additionalProperties"));
    int status = 0;
    cJSON_ArrayForEach (member, required)
        if (!kb_json_get(item, member->valuestring))
            status = no(p, "lacks", member->valuestring);
    cJSON_ArrayForEach (member, item) {
        const cJSON *known = kb_json_get(properties, member->string);
        if (known)
            status |= check_member(p, known, member, member->string);
        else if (closed)
            status = no(p, "has an unknown member", member->string);
    }
    return status;
}

static int check_items(struct place *p, const cJSON *schema, const cJSON *item)
{
    const cJSON *element;
    int status = 0, index = 0;
    cJSON_ArrayForEach (element, item) {
        char *name = kb_format("%d", index++);
        status |= check_member(p, schema, element, name);
        free(name);
    }
    return status;
}

static int check_any(struct place *p, const cJSON *list, const cJSON *item)
{
    const cJSON *one;
    struct kb_text inner = {0}, *outer = p->why;
    p->why = &inner;
    int status = -1;
    cJSON_ArrayForEach (one, list)
        if (check(p, one, item) == 0)
            status = 0;
    p->why = outer;
    if (status)
        no(p, "fits none of anyOf:", inner.data ? inner.data : "");
    kb_text_free(&inner);
    return status;
}

static int check_enum(struct place *p, const cJSON *list, const cJSON *item)
{
    const cJSON *one;
    cJSON_ArrayForEach (one, list)
        if (cJSON_Compare(one, item, true))
            return 0;
    char *text = kb_json_line(item);
    int status = no(p, "is not in the enum:", text);
    free(text);
    return status;
}

static int check_pattern(struct place *p, const char *pattern, const cJSON *item)
{
    regex_t regex;
    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB))
        return no(p, "has a schema with a bad pattern", pattern);
    int status = cJSON_IsString(item) && regexec(&regex, item->valuestring, 0, NULL, 0) == 0 ? 0 : -1;
    regfree(&regex);
    return status ? no(p, "does not match", pattern) : 0;
}

static int check_reference(struct place *p, const char *reference, const cJSON *item)
{
    static const char prefix[] = "#/definitions/";
    const cJSON *target = kb_starts(reference, prefix)
                              ? kb_json_get(kb_json_get(p->root, "definitions"), reference + sizeof prefix - 1)
                              : NULL;
    return target ? check(p, target, item) : no(p, "refers to nothing:", reference);
}

static int check_keyword(struct place *p, const cJSON *schema, const cJSON *keyword, const cJSON *item)
{
    static const char *const silent[] = {"$schema",    "title",    "description",         "definitions",
                                         "properties", "required", "additionalProperties"};
    const char *name = keyword->string;
    for (size_t i = 0; i < KB_COUNT(silent); i++)
        if (!strcmp(silent[i], name))
            return 0;
    (void)schema;
    return !strcmp(name, "type")      ? check_type(p, keyword, item)
           : !strcmp(name, "items")   ? cJSON_IsArray(item) ? check_items(p, keyword, item) : 0
           : !strcmp(name, "enum")    ? check_enum(p, keyword, item)
           : !strcmp(name, "const")   ? cJSON_Compare(keyword, item, true) ? 0 : no(p, "is not the constant", "")
             : !strcmp(name, "anyOf") ? check_any(p, keyword, item)
           : !strcmp(name, "pattern") ? check_pattern(p, keyword->valuestring, item)
           : !strcmp(name, "$ref")    ? check_reference(p, keyword->valuestring, item)
                                      : no(p, "has a schema with the unknown keyword", name);
}

static int check(struct place *p, const cJSON *schema, const cJSON *item)
{
    const cJSON *keyword;
    int status = 0;
    cJSON_ArrayForEach (keyword, schema)
        status |= check_keyword(p, schema, keyword, item);
    return cJSON_IsObject(item) ? status | check_object(p, schema, item) : status;
}

int schema_check(const cJSON *schema, const cJSON *document, struct kb_text *why)
{
    struct place p = {.root = schema, .why = why};
    return check(&p, schema, document);
}

// Texts for people, and facts that may simply not exist.
static bool may_be_null(const char *name)
{
    static const char *const names[] = {"reason",      "remedy", "git",    "path",  "version", "missing", "utc",
                                        "source_hash", "source", "kernel", "facts", "like",    "text",    "why"};
    for (size_t i = 0; i < KB_COUNT(names); i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

int schema_check_reasons(const cJSON *item, struct kb_text *why)
{
    const cJSON *member;
    int status = 0;
    cJSON_ArrayForEach (member, item) {
        if (cJSON_IsObject(member) || cJSON_IsArray(member))
            status |= member->string && !strcmp(member->string, "facts") ? 0 : schema_check_reasons(member, why);
        if (!cJSON_IsNull(member) || !member->string || may_be_null(member->string))
            continue;
        char *reason = kb_format("%s_reason", member->string);
        if (!kb_json_text(item, reason, NULL)) {
            kb_text_addf(why, "%s is null without a reason\n", member->string);
            status = -1;
        }
        free(reason);
    }
    return status;
}

cJSON *schema_checked(const char *text)
{
    char *schema_text = NULL;
    size_t size;
    assert_int_equal(kb_file_read(KB_SOURCE_DIR "/docs/once.schema.json", 1 << 20, &schema_text, &size, NULL), 0);
    cJSON *schema = cJSON_Parse(schema_text), *document = cJSON_Parse(text);
    struct kb_text why = {0};
    assert_non_null(schema);
    if (!document)
        fail_msg("no document: %s", text);
    if (schema_check(schema, document, &why) | schema_check_reasons(document, &why))
        fail_msg("%s", why.data);
    kb_text_free(&why);
    cJSON_Delete(schema);
    free(schema_text);
    return document;
}
