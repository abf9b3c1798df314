// Output that a worker, a library or a kernel's printf wrote to descriptors 1 and 2: cut into lines, cleaned, bounded.
// Nothing in it is ever read as a frame.
#ifndef KB_LOOP_LINES_H
#define KB_LOOP_LINES_H
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

enum { KB_LINES_PER_SECOND = 200, KB_LINE_BYTES = 2000 };

struct kb_lines { // zeroed at first
    struct kb_text partial;
    bool overlong;     // the rest of this line is cut
    int64_t second_us; // when the current second began; 0: none yet
    int in_second;     // lines let through in it
    int64_t dropped;   // lines cut and not reported yet
};
// text: cleaned, one line. dropped: lines cut before this one.
typedef void kb_line_function(void *context, const char *text, int64_t dropped);

void kb_lines_feed(struct kb_lines *, const char *bytes, size_t n, int64_t now_us, kb_line_function *, void *context);
// Reports what was cut once its second is over, so that a count is never held back by silence.
void kb_lines_tick(struct kb_lines *, int64_t now_us, kb_line_function *, void *context);
int kb_lines_wait_ms(const struct kb_lines *, int64_t now_us); // until a tick is due; -1: none
// The stream is over: what is left counts as a line.
void kb_lines_end(struct kb_lines *, kb_line_function *, void *context);

#endif
