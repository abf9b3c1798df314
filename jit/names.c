// Names of kernels as Itanium's C++ ABI spells them, read back as far as people need it.
#include "jit/scan.h"

#include "base/memory.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// One <length><identifier> at p into out; returns what stands behind it, or NULL.
static const char *identifier(const char *p, struct kb_text *out)
{
    char *end;
    unsigned long n = strtoul(p, &end, 10);
    if (end == p || n == 0 || n > strlen(end))
        return NULL;
    if (out->size)
        kb_text_add(out, "::");
    if (n > 11 && !strncmp(end, "_GLOBAL__N_", 11))
        kb_text_add(out, "(anonymous)");
    else
        kb_text_bytes(out, end, n);
    return end + n;
}

char *kb_name_readable(const char *lowered)
{
    if (!kb_starts(lowered, "_Z"))
        return kb_strdup(lowered);
    const char *p = lowered + 2;
    bool nested = *p == 'N';
    p += nested;
    struct kb_text out = {0};
    do {
        while (*p == 'L') // internal linkage
            p++;
        const char *next = isdigit((unsigned char)*p) ? identifier(p, &out) : NULL;
        if (!next)
            break;
        p = next;
    } while (nested && *p != 'E');
    if (!out.size)
        return kb_strdup(lowered);
    if (*p == 'I')
        kb_text_add(&out, "<...>");
    return kb_text_take(&out);
}

static const struct {
    const char *type;
    char code;
} builtin_types[] = {
    {"float", 'f'}, {"double", 'd'},         {"int", 'i'},    {"unsigned", 'j'},    {"unsigned int", 'j'},
    {"long", 'l'},  {"unsigned long", 'm'},  {"size_t", 'm'}, {"long long", 'x'},   {"unsigned long long", 'y'},
    {"short", 's'}, {"unsigned short", 't'}, {"char", 'c'},   {"signed char", 'a'}, {"unsigned char", 'h'},
    {"bool", 'b'},
};

// One template argument against its mangled form at p; returns what stands behind, or NULL if it does not fit. Numbers
// have a type of the template's choice: any will do.
static const char *argument_fits(const char *p, const char *text, size_t n)
{
    char digits[32];
    bool boolean = (n == 4 && !strncmp(text, "true", 4)) || (n == 5 && !strncmp(text, "false", 5));
    if (boolean || (n && n < 20 && (isdigit((unsigned char)text[0]) || text[0] == '-'))) {
        snprintf(digits, sizeof digits, "%s%.*s", text[0] == '-' ? "n" : "", (int)(n - (text[0] == '-')),
                 text + (text[0] == '-'));
        const char *value = boolean ? (n == 4 ? "1" : "0") : digits;
        size_t size = strlen(value);
        bool fits = p[0] == 'L' && p[1] && !strncmp(p + 2, value, size) && p[2 + size] == 'E';
        return fits ? p + 3 + size : NULL;
    }
    for (size_t i = 0; i < KB_COUNT(builtin_types); i++)
        if (strlen(builtin_types[i].type) == n && !strncmp(builtin_types[i].type, text, n))
            return *p == builtin_types[i].code ? p + 1 : NULL;
    snprintf(digits, sizeof digits, "%zu", n);
    size_t size = strlen(digits);
    return !strncmp(p, digits, size) && !strncmp(p + size, text, n) ? p + size + n : NULL;
}

static bool arguments_fit(const char *p, const char *list)
{
    while (p && *list && *list != '>') {
        list += strspn(list, " ,");
        size_t n = strcspn(list, ",>"), used = n;
        while (used && list[used - 1] == ' ')
            used--;
        p = argument_fits(p, list, used);
        list += n;
    }
    return p && *p == 'E';
}

int kb_name_fits(const char *lowered, const char *requested)
{
    requested += kb_starts(requested, "::") ? 2 : 0;
    if (!strcmp(lowered, requested))
        return 2;
    char *name = kb_name_readable(lowered);
    size_t n = strcspn(requested, "< "), own = strcspn(name, "<");
    const char *list = strchr(requested, '<'), *arguments = strrchr(lowered, 'I');
    bool same = n == own && !strncmp(name, requested, n) && (name[own] == '<') == (list != NULL);
    free(name);
    if (!same || !list)
        return same ? 2 : 0;
    for (const char *p = lowered; (p = strchr(p, 'I')); p++) // the list may begin at any of them
        if (arguments_fit(p + 1, list + 1))
            return 2;
    return arguments ? 1 : 0;
}
