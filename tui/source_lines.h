// Lines of source files as they are on the disk now. The screen never waits for one: files are read in the background.
#ifndef KB_TUI_SOURCE_LINES_H
#define KB_TUI_SOURCE_LINES_H
#include "tui/background.h"

struct kb_source_lines;
struct kb_source_lines *kb_source_lines_new(const char *dir, struct kb_background *); // relative names lie there
void kb_source_lines_free(struct kb_source_lines *);                                  // behind its background
void kb_source_lines_ask(struct kb_source_lines *);    // between frames: reads what drawing looked for in vain
void kb_source_lines_forget(struct kb_source_lines *); // a new build began: files may have changed
int kb_source_line_count(struct kb_source_lines *, const char *file); // 0 while it is not read
// NULL while it is not read, or if there is no such line; valid until the next call.
const char *kb_source_line(struct kb_source_lines *, const char *file, int line);

#endif
