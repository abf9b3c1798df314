#include "tui/terminfo.h"

#include <curses.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <unistd.h>

static bool usable(const char *type)
{
    int problem = 0;
    if (setupterm(type, STDOUT_FILENO, &problem) != OK)
        return false;
    const char *place = tigetstr("cup");
    bool can = place && place != (char *)-1;
    del_curterm(cur_term);
    return can;
}

const char *kb_terminal_type(const char **note, struct kb_error *e)
{
    static char text[160];
    const char *type = getenv("TERM");
    *note = "";
    if (type && *type && usable(type))
        return type;
    bool dumb = type && !strcmp(type, "dumb");
    if (!dumb && usable("xterm-256color")) {
        snprintf(text, sizeof text, "terminal type \"%.60s\" is not known here: drawn as xterm-256color",
                 type ? type : "");
        *note = text;
        return "xterm-256color";
    }
    kb_fail(e, NULL, "set TERM to what your terminal is, for instance TERM=xterm-256color; or use --once or --snapshot",
            "terminal type \"%s\" %s", type ? type : "", dumb ? "cannot place the cursor" : "is not known here");
    return NULL;
}
