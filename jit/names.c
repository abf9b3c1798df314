// Names of kernels as Itanium's C++ ABI spells them, read back as far as people need it.
#include "jit/scan.h"

#include "base/memory.h"

#include <ctype.h>
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
