// The full screen: one ppoll loop over terminal, session or replay, editor and signals.
#ifndef KB_TUI_SCREEN_H
#define KB_TUI_SCREEN_H
#include "tui/options.h"

// SCREEN, REPLAY and SNAPSHOT. Returns the exit code; an error is printed once the terminal is given back.
int kb_screen_run(const struct kb_options *);
// --snapshot: one frame as plain text on stdout, of a replay's end or of a live session in which every variant was
// run once. With KBENCH_SCRIPT=FILE in the environment, what that script says instead (tui/script.h).
int kb_snapshot_run(const struct kb_options *);

#endif
