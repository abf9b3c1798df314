// Lines of source files for the error pane. A thread of its own reads them: the screen never waits for a disk.
#ifndef KB_TUI_SOURCE_LINES_H
#define KB_TUI_SOURCE_LINES_H

struct kb_source_lines;
struct kb_source_lines *kb_source_lines_new(const char *dir);         // relative names lie there
void kb_source_lines_free(struct kb_source_lines *);                  // does not wait for a read that is stuck
int kb_source_lines_fd(const struct kb_source_lines *);               // readable when something was read
void kb_source_lines_take(struct kb_source_lines *);                  // call then
void kb_source_lines_forget(struct kb_source_lines *);                // a new build began: files may have changed
int kb_source_line_count(struct kb_source_lines *, const char *file); // 0 while it is not read
// NULL while it is not read, or if there is no such line; valid until the next call.
const char *kb_source_line(struct kb_source_lines *, const char *file, int line);

#endif
