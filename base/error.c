#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

int kb_fail(struct kb_error *e, const char *on, const char *remedy, const char *format, ...)
{
    if (!e)
        return -1;
    struct kb_error filled; // the arguments may point into e
    va_list list;
    va_start(list, format);
    vsnprintf(filled.what, sizeof filled.what, format, list);
    va_end(list);
    snprintf(filled.on, sizeof filled.on, "%s", on ? on : "");
    snprintf(filled.remedy, sizeof filled.remedy, "%s", remedy ? remedy : "");
    *e = filled;
    return -1;
}

const char *kb_error_line(const struct kb_error *e)
{
    static _Thread_local char line[sizeof e->what + sizeof e->on + sizeof e->remedy + 16];
    snprintf(line, sizeof line, "%s%s%s%s%s%s", e->on, e->on[0] ? ": " : "", e->what, e->remedy[0] ? " (" : "",
             e->remedy, e->remedy[0] ? ")" : "");
    return line;
}
