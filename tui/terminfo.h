// Which terminal type to draw for. Apart from terminal.c, because <term.h> defines macros such as "lines".
#ifndef KB_TUI_TERMINFO_H
#define KB_TUI_TERMINFO_H
#include "base/error.h"

// $TERM, or xterm-256color where that is not known here (*note says so; static, "" if all is well). NULL if the
// terminal can't be served.
const char *kb_terminal_type(const char **note, struct kb_error *);

#endif
