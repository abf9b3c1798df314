// `kbench-tui export BENCH VARIANT [FILE.cu]`: builds and tries the variant, and writes a case that it fails.
#ifndef KB_TUI_EXPORT_H
#define KB_TUI_EXPORT_H
#include "tui/options.h"

// Says on stdout where the file is and how it is compiled; messages go to stderr. Exit code: 0 written, 1 nothing was
// (the variant fails no such case, or the file is there), 2 usage, 3 no device or worker.
int kb_run_export_case(const struct kb_options *);

#endif
