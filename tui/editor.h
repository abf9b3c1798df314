// The user's editor on a file at a line, on the same terminal.
#ifndef KB_TUI_EDITOR_H
#define KB_TUI_EDITOR_H
#include "base/error.h"

#include <sys/types.h>

// Starts $VISUAL, $EDITOR or vi with "+line file" in this process group. *pidfd becomes readable when it has ended.
pid_t kb_editor_start(const char *file, int line, int *pidfd, struct kb_error *);

#endif
