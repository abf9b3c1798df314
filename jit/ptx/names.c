// Names as a person wrote them: the last part of a mangled one (Itanium C++ ABI).
#include "jit/ptx/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct part {
    const char *start;
    size_t length; // 0: none
};

// "3bar": a name behind its length.
static struct part counted(const char *p)
{
    char *end;
    if (*p < '1' || *p > '9')
        return (struct part){0};
    unsigned long n = strtoul(p, &end, 10);
    return n <= strlen(end) ? (struct part){end, n} : (struct part){0};
}

// "_ZZ5smallE1s" is s inside of small; a second s of the module is "_ZZ5largeE1s_$_0". Arguments of templates and
// parameters may hold such letters too, but the name is what the text ends with.
static struct part local_name(const char *name)
{
    for (const char *p = name; *p; p++) {
        struct part found = *p == 'E' ? counted(p + 1) : (struct part){0};
        if (found.length && (!found.start[found.length] || found.start[found.length] == '_'))
            return found;
    }
    return (struct part){0};
}

// "_ZN2ns5tableE", "_ZL5table" (internal to its file), "_Z5tableIfE" (of a template).
static struct part global_name(const char *name)
{
    struct part last = {0};
    const char *p = name + 2;
    p += *p == 'N';
    p += *p == 'L';
    for (struct part next = counted(p); next.length; next = counted(p)) {
        last = next;
        p = next.start + next.length;
        p += *p == 'L';
    }
    return last;
}

const char *ptx_plain_name(const char *name)
{
    static _Thread_local char text[128];
    struct part found = {0};
    if (!strncmp(name, "_ZZ", 3))
        found = local_name(name);
    else if (!strncmp(name, "_Z", 2))
        found = global_name(name);
    if (!found.length)
        return name;
    snprintf(text, sizeof text, "%.*s", (int)(found.length < sizeof text ? found.length : sizeof text - 1),
             found.start);
    return text;
}
