// Readable names of C++ symbols (Itanium ABI, names only).
#include "profiles/line_table.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Behind a part's template arguments "I...E", so far as plain nesting tells where they end.
static const char *skip_arguments(const char *p)
{
    int depth = 0;
    while (*p) {
        if (isdigit((unsigned char)*p)) { // a name inside: its letters mean nothing
            size_t n = strtoul(p, (char **)&p, 10);
            for (; n && *p; n--)
                p++;
            continue;
        }
        depth += strchr("INLXJ", *p) ? 1 : *p == 'E' ? -1 : 0;
        if (*p++ == 'L') // a literal: type and digits up to its E
            while (*p && *p != 'E')
                p++;
        if (!depth)
            return p;
    }
    return p;
}

void kb_symbol_readable(const char *symbol, char *out, size_t size)
{
    const char *p = strstr(symbol, "_Z"); // called functions are "$kernel$_Z..." in a cubin
    size_t used = 0;
    snprintf(out, size, "%s", symbol);
    if (!p || (p != symbol && symbol[0] != '$'))
        return;
    p += 2;
    bool nested = *p == 'N';
    p += nested;
    while (*p == 'L' || *p == 'K')
        p++;
    while (isdigit((unsigned char)*p)) {
        char *end;
        size_t n = strtoul(p, &end, 10);
        if (!n || n > strlen(end) || n > size)
            return;
        const char *name = !strncmp(end, "_GLOBAL__N_", 11) || !strncmp(end, "_INTERNAL_", 10) ? NULL : end;
        if (name && used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%.*s", used ? "::" : "", (int)n, name);
        p = end + n;
        if (*p == 'I')
            p = skip_arguments(p);
        if (!nested)
            return;
    }
}
