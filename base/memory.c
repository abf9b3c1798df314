#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *p, size_t bytes)
{
    if (p)
        return p;
    fprintf(stderr, "kbench: out of memory (%zu bytes asked for)\n", bytes);
    abort();
}

void *kb_alloc(size_t bytes)
{
    return checked(calloc(1, bytes ? bytes : 1), bytes);
}

void *kb_realloc(void *p, size_t bytes)
{
    return checked(realloc(p, bytes ? bytes : 1), bytes);
}

char *kb_strdup(const char *s)
{
    return s ? kb_strndup(s, strlen(s)) : NULL;
}

char *kb_strndup(const char *s, size_t n)
{
    size_t length = strnlen(s, n);
    char *copy = kb_alloc(length + 1);
    memcpy(copy, s, length);
    return copy;
}

void kb_free_list(char **list)
{
    for (int i = 0; list && list[i]; i++)
        free(list[i]);
    free(list);
}

char *kb_format(const char *format, ...)
{
    char *out = NULL;
    va_list list;
    va_start(list, format);
    int n = vasprintf(&out, format, list);
    va_end(list);
    return checked(n < 0 ? NULL : out, (size_t)(n < 0 ? 0 : n));
}
