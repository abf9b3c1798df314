#include "bench/document.h"
#include "base/json_exact.h"
#include "base/memory.h"
#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Walks the tree in the order of the text, so that the n-th value of one is the n-th value of the other. Returns
// whether target was met; *index counts the values before it, path gets its keys.
static bool locate(const cJSON *item, const cJSON *target, size_t *index, struct kb_text *path)
{
    if (item == target)
        return true;
    ++*index;
    int i = 0;
    for (const cJSON *child = item->child; child; child = child->next, i++) {
        size_t before = path->size;
        if (child->string)
            kb_text_addf(path, "%s%s", path->size ? "." : "", child->string);
        else
            kb_text_addf(path, "[%d]", i);
        if (locate(child, target, index, path))
            return true;
        path->size = before;
        if (path->data)
            path->data[before] = 0;
    }
    return false;
}

static const char *string_end(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++)
        p += *p == '\\' && p + 1 < end;
    return p < end ? p + 1 : end;
}

static int lines_in(const char *p, const char *end)
{
    int lines = 0;
    for (; p < end; p++)
        lines += *p == '\n';
    return lines;
}

// The line of value number `index`; of its key if it has one.
static int line_of_value(const char *text, size_t size, size_t index)
{
    const char *p = text, *end = text + size;
    int line = 1, key_line = 0;
    while (p < end) {
        const char *start = p;
        bool is_value = true;
        if (*p == '"') {
            p = string_end(p, end);
            const char *behind = p;
            while (behind < end && (unsigned char)*behind <= ' ')
                behind++;
            if (behind < end && *behind == ':') {
                key_line = line;
                is_value = false;
            }
        } else if (strchr("{[", *p) && *p) {
            p++;
        } else if ((unsigned char)*p <= ' ' || strchr(",:]}\xef\xbb\xbf", *p)) {
            line += *p++ == '\n';
            continue;
        } else {
            while (p < end && (unsigned char)*p > ' ' && !strchr(",:]}", *p))
                p++;
        }
        if (is_value && index-- == 0)
            return key_line ? key_line : line;
        key_line = is_value ? 0 : key_line;
        line += lines_in(start, p);
    }
    return line;
}

static char *place(const struct kb_document *doc, const cJSON *item, struct kb_text *path)
{
    size_t index = 0;
    bool found = doc->root && item && locate(doc->root, item, &index, path);
    if (!doc->text || !found)
        return kb_strdup(doc->path);
    return kb_format("%s:%d", doc->path, line_of_value(doc->text, doc->size, index));
}

int kb_document_fail(const struct kb_document *doc, const cJSON *item, const char *remedy, const char *format, ...)
{
    char *what = NULL;
    va_list list;
    va_start(list, format);
    if (vasprintf(&what, format, list) < 0)
        what = NULL;
    va_end(list);
    struct kb_text path = {0};
    char *on = place(doc, item ? item : doc->root, &path);
    char *full = kb_format("%s%s%s", path.size ? path.data : "", path.size ? ": " : "", what ? what : "wrong");
    char *clean = kb_cleaned(full);
    kb_fail(doc->e, on, remedy, "%s", clean);
    kb_text_free(&path);
    free(what);
    free(on);
    free(full);
    free(clean);
    return -1;
}

static const char *syntax_hint(const char *text, const char *at, const char *end)
{
    const char *before = at;
    while (before > text && (unsigned char)before[-1] <= ' ')
        before--;
    char last = before > text ? before[-1] : 0;
    if (at >= end)
        return "the file ends too early: a bracket or a quote is not closed";
    if (*at == '/' || *at == '#')
        return "JSON has no comments; use a key named \"comment\"";
    if ((*at == '}' || *at == ']') && last == ',')
        return "remove the comma before it";
    if (*at == '\'' || isalpha((unsigned char)*at))
        return "keys and texts stand in double quotes; true, false and null are lower case";
    if (last == '"' || last == '}' || last == ']' || (last >= '0' && last <= '9'))
        return "is a comma missing before it?";
    return "see docs/bench.md for a whole example";
}

// cJSON stops one character into what it wanted to be a key.
static const char *wrong_key(const char *text, const char *at)
{
    const char *before = at - 1;
    if (at <= text || (unsigned char)*before <= ' ')
        return at;
    while (before > text && (unsigned char)before[-1] <= ' ')
        before--;
    return before > text && (before[-1] == '{' || before[-1] == ',') ? at - 1 : at;
}

static int syntax_error(struct kb_document *doc, const char *at)
{
    const char *end = doc->text + doc->size;
    at = at && at >= doc->text && at <= end ? wrong_key(doc->text, at) : end;
    while (at < end && (unsigned char)*at <= ' ')
        at++;
    int line = 1 + lines_in(doc->text, at);
    size_t n = 0;
    while (at + n < end && at[n] != '\n' && n < 30)
        n++;
    char *near = kb_strndup(at, n), *clean = kb_cleaned(near), *on = kb_format("%s:%d", doc->path, line);
    kb_fail(doc->e, on, syntax_hint(doc->text, at, end), "no valid JSON%s%s%s", n ? " at \"" : "", clean,
            n ? "\"" : "");
    free(near);
    free(clean);
    free(on);
    return -1;
}

int kb_document_parse(struct kb_document *doc, cJSON **root)
{
    const char *stop = NULL;
    *root = NULL;
    if (memchr(doc->text, 0, doc->size))
        return syntax_error(doc, memchr(doc->text, 0, doc->size));
    cJSON *parsed = cJSON_ParseWithLengthOpts(doc->text, doc->size, &stop, false);
    while (parsed && stop < doc->text + doc->size && (unsigned char)*stop <= ' ')
        stop++;
    if (!parsed || stop < doc->text + doc->size) {
        cJSON_Delete(parsed);
        return syntax_error(doc, stop);
    }
    kb_json_keep_digits(parsed, doc->text, doc->size);
    *root = parsed;
    doc->root = parsed;
    return 0;
}

bool kb_is_comment(const cJSON *item)
{
    return item->string && (!strcmp(item->string, "comment") || !strcmp(item->string, "$schema"));
}

static const char *type_name(const cJSON *item)
{
    return cJSON_IsString(item)   ? "a text"
           : cJSON_IsNumber(item) ? "a number"
           : cJSON_IsBool(item)   ? "true or false"
           : cJSON_IsObject(item) ? "an object"
           : cJSON_IsArray(item)  ? "a list"
                                  : "null";
}

static bool is_integer(const cJSON *item)
{
    int64_t value;
    return kb_json_exact(item, &value);
}

static char *expected(int types)
{
    static const char *const names[] = {"a text", "an integer", "a number", "true or false", "an object", "a list"};
    struct kb_text out = {0};
    if ((types & KB_JSON_EXPRESSION) == KB_JSON_EXPRESSION)
        kb_text_add(&out, "an integer or an expression");
    for (size_t i = 0; i < KB_COUNT(names); i++) {
        if (!(types >> i & 1) || (i < 2 && (types & KB_JSON_EXPRESSION) == KB_JSON_EXPRESSION))
            continue;
        kb_text_addf(&out, "%s%s", out.size ? " or " : "", names[i]);
    }
    return kb_text_take(&out);
}

int kb_document_type(const struct kb_document *doc, const cJSON *item, int types)
{
    bool right = ((types & KB_JSON_TEXT) && cJSON_IsString(item)) || ((types & KB_JSON_INTEGER) && is_integer(item)) ||
                 ((types & KB_JSON_NUMBER) && cJSON_IsNumber(item)) || ((types & KB_JSON_BOOL) && cJSON_IsBool(item)) ||
                 ((types & KB_JSON_OBJECT) && cJSON_IsObject(item)) || ((types & KB_JSON_ARRAY) && cJSON_IsArray(item));
    if (right)
        return 0;
    char *want = expected(types);
    if (cJSON_IsNumber(item))
        kb_document_fail(doc, item, NULL, "%.17g is no valid value here, expected %s", item->valuedouble, want);
    else
        kb_document_fail(doc, item, NULL, "is %s, expected %s", type_name(item), want);
    free(want);
    return -1;
}

int kb_document_unknown(const struct kb_document *doc, const cJSON *item, const char *kind, const char *word,
                        const char *const *known, size_t n)
{
    struct kb_text list = {0};
    for (size_t i = 0; i < n; i++)
        kb_text_addf(&list, "%s%s", i ? ", " : "", known[i]);
    const char *near = kb_nearest(word, known, n);
    char *remedy = n ? kb_format("known: %s", list.data) : kb_strdup("none is known here");
    kb_document_fail(doc, item, remedy, "unknown %s \"%.60s\"%s%s%s", kind, word, near ? ", did you mean \"" : "",
                     near ? near : "", near ? "\"?" : "");
    free(remedy);
    kb_text_free(&list);
    return -1;
}

static int check_key(const struct kb_document *doc, const cJSON *child, const struct kb_key *keys, size_t n)
{
    if (kb_is_comment(child))
        return 0;
    for (const cJSON *twin = child->next; twin; twin = twin->next)
        if (!strcmp(twin->string, child->string))
            return kb_document_fail(doc, twin, "keep one of them", "this key is given twice");
    const char **names = kb_alloc(sizeof *names * n);
    int status = 0;
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        names[i] = keys[i].name;
    while (k < n && strcmp(names[k], child->string))
        k++;
    if (k == n)
        status = kb_document_unknown(doc, child, "key", child->string, names, n);
    else
        status = kb_document_type(doc, child, keys[k].types);
    free(names);
    return status;
}

int kb_document_keys(const struct kb_document *doc, const cJSON *item, const struct kb_key *keys, size_t n,
                     const char *what)
{
    if (kb_document_type(doc, item, KB_JSON_OBJECT))
        return -1;
    for (const cJSON *child = item->child; child; child = child->next)
        if (check_key(doc, child, keys, n))
            return -1;
    for (size_t k = 0; k < n; k++) {
        if (!(keys[k].types & KB_JSON_REQUIRED) || cJSON_GetObjectItemCaseSensitive(item, keys[k].name))
            continue;
        char *want = expected(keys[k].types & ~KB_JSON_REQUIRED);
        kb_document_fail(doc, item, NULL, "%s needs the key \"%s\": %s", what, keys[k].name, want);
        free(want);
        return -1;
    }
    return 0;
}
