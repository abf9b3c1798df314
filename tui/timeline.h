// The timeline of a traced version, over the panes: multiprocessors, then one's blocks, then one's warps, as rows; time
// as columns; the section that most of a cell's warp time was spent in as its letter and colour.
#ifndef KB_TUI_TIMELINE_H
#define KB_TUI_TIMELINE_H
#include "event/event.h"
#include "profiles/trace.h"
#include "tui/cell.h"
#include "tui/line.h"

struct kb_app;

struct kb_timeline_level {
    struct kb_trace_window window;
    int cursor, top;
};
struct kb_timeline { // what is looked at
    struct kb_timeline_level levels[3];
    int depth;  // of levels
    int height; // rows shown last time
    // What was drawn last, kept while nothing of it changes.
    struct kb_trace_row *rows;
    uint8_t *cells;
    int row_count;
    struct {
        const void *trace;
        uint32_t warps, spans;
        int64_t end;
        struct kb_trace_window window;
        int top, columns, shown;
    } drawn;
};
void kb_timeline_free(struct kb_timeline *);
void kb_timeline_reset(struct kb_timeline *); // another trace: from the outermost level
void kb_timeline_draw(struct kb_app *, const struct kb_canvas *);
// KB_DID_ bits; *open becomes false where the key leaves the timeline.
unsigned kb_timeline_key(struct kb_app *, int key, bool *open);
// Asks for a trace of the version shown, where there is none or `again`.
void kb_timeline_ask(struct kb_app *, bool again);

// timeline_text.c: what stands above and below, from a `trace` event
void kb_timeline_head(const struct kb_ev_trace *, int width, int most, struct kb_lines *); // most: lines of room
void kb_timeline_sections(const struct kb_ev_trace *, int width, int most,
                          struct kb_lines *); // a table, or one line a few
enum kb_style kb_timeline_style(int section);
struct kb_text;
void kb_timeline_time(const struct kb_trace *, double ticks, struct kb_text *); // "12.4 us", "3,100 instructions"

#endif
