// `kbench-tui allow BENCH`: shows the commands that a bench runs, as its reference or variants, and remembers that they
// may.
#ifndef KB_TUI_ALLOW_H
#define KB_TUI_ALLOW_H
#include "tui/options.h"

int kb_run_allow(const char *bench, struct kb_error *e); // exit code; KB_EXIT_USAGE with the error filled

#endif
